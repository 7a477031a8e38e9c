// One term's postings in memory: the positions of the documents that have it, ascending, and how often they do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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
    float most;  // the largest impact
};

// Seven bytes per posting, and twelve per block.
class PostingList {
 public:
    // Positions must ascend; append returns false for one that does not.
    bool append(int32_t position, int32_t count);

    // To be called after the last append, and before all that follows. More may be appended later.
    void close();

    // Gives back memory that no posting needs.
    void shrink();

    size_t size() const { return offsets_.size(); }
    int64_t last() const;  // position, or -1
    bool contains(int32_t position) const;
    size_t nbytes() const;

    // Calls visit(position, count) for each posting, by ascending position.
    template <class Visit>
    void each(Visit&& visit) const {
        auto large = large_counts_.begin();
        for (const PostingBlock* block = blocks(); block->window != kNoWindow; ++block)
            for (uint32_t i = block->first; i < block[1].first; ++i)
                visit(static_cast<int32_t>(block->window * kWindow + offsets_[i]),
                      counts_[i] < 255 ? counts_[i] : (large++)->count);
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

}  // namespace sthash::words
