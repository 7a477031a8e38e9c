// A growing index of sets: for each new set the most similar one that is there, if it is similar enough.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "join/components.hpp"
#include "join/similarity_join.hpp"
#include "parallel.hpp"

namespace sthash::join {

// Groups of what is numbered from 0 on and grows: those that are linked, if only through others.
class Groups {
 public:
    using Link = std::pair<int32_t, int32_t>;

    size_t size() const { return joined_.size(); }
    void grow(size_t count) { joined_.grow(count); }
    void join(int32_t left, int32_t right) {
        if (joined_.join(left, right)) links_.emplace_back(left, right);
    }
    // The first one of a group.
    int32_t first_of(int32_t one) { return joined_.root(one); }
    // Links that make the groups.
    const std::vector<Link>& links() const { return links_; }
    // Forgets the latest, and their links.
    void truncate(size_t count);

 private:
    Components joined_{0};
    std::vector<Link> links_;
};

// All that one set is similar to. From some on, those of a group that has been met are passed over.
struct Matches {
    std::vector<int32_t> sets;
    Groups& groups;

    bool cover(int32_t set) const {
        return sets.size() >= kPlenty && groups.first_of(set) == groups.first_of(sets.front());
    }

    static constexpr size_t kPlenty = 100;
};

// Sets of 64-bit hashes, each ascending. A set is looked for by its rarest items only: if two sets share enough, then
// also one of those (see similarity_join.hpp).
class SetIndex {
 public:
    struct Match {
        int64_t set = -1;  // -1 if there is none
        double score = 0;
    };

    // Whether a set is accepted as similar, with the number of items that only the one looked for and only it have.
    using Accept = std::function<bool(size_t set, int64_t only_left, int64_t only_right)>;

    // Measure::jaccard, or containment of the set that is looked for in one that is there. If there are `common` items
    // that all sets have besides, one item of each set stands for the whole of it, and counts for equality only.
    SetIndex(Measure measure, double threshold, double common = 0)
        : measure_(measure), threshold_(threshold), common_(common), whole_(common > 0) {}

    size_t size() const { return bounds_.size() - 1; }
    const std::vector<int64_t>& bounds() const { return bounds_; }
    const std::vector<uint64_t>& items() const { return items_; }

    // The most similar set that is accepted; of equals the first.
    Match find(const uint64_t* items, size_t count, const Accept& accept = {}, Matches* matches = nullptr);

    // How many items a set has.
    size_t count_of(size_t set) const { return static_cast<size_t>(bounds_[set + 1] - bounds_[set]); }

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
    double similarity(const uint64_t* items, size_t count, size_t set, size_t& shared) const;

    Measure measure_;
    double threshold_;
    double common_;
    bool whole_;
    std::vector<int64_t> bounds_{0};
    std::vector<uint64_t> items_;
    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    size_t used_ = 0;
    std::vector<Link> links_;
    std::vector<uint32_t> seen_;  // by set; the mark of the last search that looked at it
    uint32_t mark_ = 0;
};

// A text as `Wording` has it.
struct TextSets {
    const uint64_t *pairs, *runs, *runs_end;  // pairs up to the runs
    const uint64_t *marks, *marks_end;

    size_t n_pairs() const { return static_cast<size_t>(runs - pairs); }
    size_t n_runs() const { return static_cast<size_t>(runs_end - runs); }
};

// How similarly two texts are worded: the score, below 0 if they are to be kept apart; 0 if they have no sets of one
// kind.
double wording_similarity(const TextSets& left, const TextSets& right, bool keep_numbers);

// The same for texts, by how they are worded.
class TextIndex {
 public:
    TextIndex(double threshold, bool keep_numbers)
        : keep_numbers_(keep_numbers),
          pairs_(Measure::jaccard, threshold, kCommonPairs),
          runs_(Measure::jaccard, threshold, kCommonRuns) {}

    size_t size() const { return pairs_.size(); }
    SetIndex::Match find(const TextSets& text, Matches* matches = nullptr);
    void add(const TextSets& text);
    void truncate(size_t count);

    // All texts, as they were added.
    Wording texts() const;

 private:
    bool keep_numbers_;
    SetIndex pairs_, runs_;
    std::vector<int64_t> marks_indptr_{0};
    std::vector<uint64_t> marks_;
};

}  // namespace sthash::join
