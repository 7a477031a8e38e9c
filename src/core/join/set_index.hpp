// A growing index of sets: for each new set the most similar one that is there, if it is similar enough.
#pragma once

#include <cstdint>
#include <vector>

#include "join/similarity_join.hpp"
#include "parallel.hpp"

namespace sthash::join {

// Sets of 64-bit hashes, each ascending. A set is looked for by its rarest items only: if two sets share enough, then
// also one of those (see similarity_join.hpp).
class SetIndex {
 public:
    struct Match {
        int64_t set = -1;  // -1 if there is none
        double score = 0;
    };

    // Measure::jaccard, or containment of the set that is looked for in one that is there.
    SetIndex(Measure measure, double threshold) : measure_(measure), threshold_(threshold) {}

    size_t size() const { return bounds_.size() - 1; }
    const std::vector<int64_t>& bounds() const { return bounds_; }
    const std::vector<uint64_t>& items() const { return items_; }

    // The most similar set; of equals the first.
    Match find(const uint64_t* items, size_t count);

    void add(const uint64_t* items, size_t count);

    // Keeps the first sets only.
    void truncate(size_t count);

 private:
    // The sets of an item, the latest first; `count` of them, linked from `last` on.
    struct Slot {
        uint64_t item = 0;
        uint32_t count = 0;
        uint32_t last = 0;
    };
    struct Link {
        uint32_t set;
        uint32_t before;
    };

    Slot& slot_of(uint64_t item);
    void grow();
    double similarity(const uint64_t* items, size_t count, size_t set) const;

    Measure measure_;
    double threshold_;
    std::vector<int64_t> bounds_{0};
    std::vector<uint64_t> items_;
    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    size_t used_ = 0;
    std::vector<Link> links_;
    std::vector<uint32_t> seen_;  // by set; the mark of the last search that looked at it
    uint32_t mark_ = 0;
};

}  // namespace sthash::join
