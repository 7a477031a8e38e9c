// Sets that are too many to be compared at once, cut into parts so that any two similar ones meet in one of them.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace sthash::join {

// Sets come as those of texts: `per_text` of them each. Two per text are those of `Wording`.
struct SetsView {
    const int64_t* indptr;
    const uint64_t* items;
    size_t n_texts;
    size_t per_text;
};

// Texts in parts: text `texts[i]` in part `parts[i]`, with the sets whose bits are on in `sets[i]`. Texts ascend, and
// the parts of each.
struct Placed {
    std::vector<int64_t> texts;
    std::vector<int32_t> parts;
    std::vector<uint8_t> sets;
};

// Two sets that are similar enough share one of the rarest items of each (see similarity_join.hpp), whatever the order
// is by which items count as rare, if it is the same for all. Here it is that of counters, which items may share. So a
// set goes to the parts of its rarest items, and there is compared as a whole: each part takes time and memory of its
// own, and there are as many as are needed.
class Partition {
 public:
    // The key is a secret number: nobody can choose items that all fall into one part.
    Partition(double threshold, size_t n_counters, uint64_t key);

    // Counts the items of sets. All sets are counted before any is placed. Of texts that have pairs of words, runs of
    // characters are compared with those of texts without pairs only: they are counted in a second round.
    void count(const SetsView& sets, bool second_round);

    Placed place(const SetsView& sets, size_t n_parts, int threads, StopFlag& stop) const;

 private:
    uint64_t mixed(uint64_t item) const;

    double threshold_;
    std::vector<uint16_t> counters_;
    size_t mask_;
    uint64_t key_;
};

}  // namespace sthash::join
