// One term's postings in memory: the positions of the documents that have it, ascending, and how often they do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sthash::words {

// The parameters of BM25. A document with `count` occurrences of a term among `length` words gets
//   weight · count (k1 + 1) / (count + k1 (1 - b + b length / mean_length))
// for it. What follows the weight is the impact of the term on the document.
struct Bm25 {
    double k1, b, mean_length;
    friend bool operator==(const Bm25&, const Bm25&) = default;
};

// Positions are split into windows of this many, which are searched one after the other; the sums of one fit into the
// fastest cache.
constexpr uint32_t kWindow = 4096;

// The postings of one window: number [first, first of the next block).
struct PostingBlock {
    uint32_t window, first;
    float most;  // no impact is larger
};

// Seven bytes per posting, and twelve per block.
class PostingList {
 public:
    class Writer;

    // Positions must ascend; append returns false for one that does not.
    bool append(int32_t position, int32_t count);

    // To be called after the last append, and before all that follows. More may be appended later.
    void close();

    // Removes the postings of a few positions, where there are some; after close().
    void free_from(std::span<const int32_t> positions);

    // Gives back memory that no posting needs, but for a few that may be appended.
    void shrink();

    size_t size() const { return offsets_.size(); }
    int64_t last() const;  // position, or -1
    bool contains(int32_t position) const;
    size_t nbytes() const;

    // Calls visit(position, count) for each posting, by ascending position.
    template <class Visit>
    void each(Visit&& visit) const {
        each_from(0, std::forward<Visit>(visit));
    }

    // The same for the postings from a position on.
    template <class Visit>
    void each_from(int32_t first, Visit&& visit) const {
        const auto large_before = [](const LargeCount& large, uint32_t posting) { return large.posting < posting; };
        const PostingBlock* block = blocks();
        while (block->window != kNoWindow && (block->window + 1) * kWindow <= static_cast<uint32_t>(first)) ++block;
        auto large = std::lower_bound(large_counts_.begin(), large_counts_.end(), block->first, large_before);
        for (; block->window != kNoWindow; ++block)
            for (uint32_t i = block->first; i < block[1].first; ++i) {
                const auto position = static_cast<int32_t>(block->window * kWindow + offsets_[i]);
                const int32_t count = counts_[i] < 255 ? counts_[i] : (large++)->count;
                if (position >= first) visit(position, count);
            }
    }

    // Computes impacts, as floats; those of more postings than before cost what is new. lengths has one entry per
    // position.
    void prepare(const Bm25& scoring, std::span<const int32_t> lengths);
    bool prepared(const Bm25& scoring) const { return scoring_ == scoring && impacts_.size() == offsets_.size(); }

    // At least `count` documents have this impact or more.
    float impact_of_best(size_t count) const;

    // The blocks, by ascending window, and one behind the last whose window is kNoWindow.
    static constexpr uint32_t kNoWindow = UINT32_MAX;
    const PostingBlock* blocks() const { return blocks_.data(); }
    const uint16_t* offsets() const { return offsets_.data(); }  // within the window
    const float* impacts() const { return impacts_.data(); }

 private:
    bool remove(int32_t position);
    // Computes what impact_of_best gives.
    void rank();

    static constexpr std::array<size_t, 6> kRanks{1000, 300, 100, 50, 30, 10};

    // A count that does not fit into a byte.
    struct LargeCount {
        uint32_t posting;
        int32_t count;
    };

    std::vector<PostingBlock> blocks_;
    std::vector<uint16_t> offsets_;
    std::vector<uint8_t> counts_;  // 255 for a large count
    std::vector<LargeCount> large_counts_;
    std::vector<float> impacts_;
    Bm25 scoring_{};
    std::array<float, kRanks.size()> impact_at_rank_{};
    size_t ranked_ = 0;  // postings that these are of
};

// Fills an empty list with at most so many postings, whose positions ascend.
class PostingList::Writer {
 public:
    Writer(PostingList& list, size_t most) : list_(list) {
        list_.offsets_.resize(most);
        list_.counts_.resize(most);
    }

    void write(uint32_t position, int32_t count) {
        if (position / kWindow != window_) {
            window_ = position / kWindow;
            list_.blocks_.push_back({window_, size_, 0});
        }
        list_.offsets_[size_] = static_cast<uint16_t>(position % kWindow);
        list_.counts_[size_] = static_cast<uint8_t>(std::min(count, 255));
        if (count >= 255) list_.large_counts_.push_back({size_, count});
        ++size_;
    }

    // To be called once, at the end.
    void finish() {
        list_.offsets_.resize(size_);
        list_.counts_.resize(size_);
        list_.close();
        list_.shrink();
    }

 private:
    PostingList& list_;
    uint32_t window_ = kNoWindow, size_ = 0;
};

}  // namespace sthash::words
