// The exact search for the best documents of one query, over the lists of its terms.
#pragma once

#include <cstdint>
#include <vector>

#include "words/posting_list.hpp"

namespace sthash::words {

// A term of a query. Its list must be prepared.
struct QueryTerm {
    const PostingList* list;
    float weight;  // above 0
    bool optional = false;
};

// What a search knows of the documents, one entry per position; either may be null.
struct DocumentsView {
    const uint8_t* allowed;  // zero for documents to leave out
    const uint32_t* ranks;   // the order of equal scores; what is found is known by its rank then, not by its position
};

// Inner loops. Offsets and scores of candidates, which are written, have space for 16 more than there can be.
struct PostingKernels {
    // Adds the weighted impacts of a block to the sums of their window.
    void (*add_block)(const uint16_t* offsets, const float* impacts, ptrdiff_t count, float weight, float* sums);
    // How many sums are above a bound, or a part of these that is `enough`. The number of sums is a multiple of 64,
    // here and below.
    ptrdiff_t (*count_above)(const float* sums, ptrdiff_t count, float bound, ptrdiff_t enough);
    // Writes the sums that are above a bound with their offsets, ascending, and sets all sums to 0. Returns how many.
    ptrdiff_t (*take_sums)(float* sums, ptrdiff_t count, float bound, uint16_t* offsets, float* scores);
    // The same for the offsets of one block only.
    ptrdiff_t (*take_touched)(const uint16_t* from, ptrdiff_t count, float bound, float* sums, uint16_t* offsets,
                              float* scores);
    // Writes the weighted impacts of a block that are above a bound, with their offsets. Returns how many.
    ptrdiff_t (*take_block)(const uint16_t* from, const float* impacts, ptrdiff_t count, float weight, float bound,
                            uint16_t* offsets, float* scores);
    // Adds the weighted impacts of a block to candidates that are in the block, keeps those above a bound, and returns
    // how many.
    ptrdiff_t (*look_up)(const uint16_t* from, const float* impacts, ptrdiff_t count, float weight, float bound,
                         uint16_t* offsets, float* scores, ptrdiff_t candidates);
};

// Searches one query after the other, on one thread.
//
// Positions are looked at window by window. In each, the largest impacts of the terms bound what a document can reach;
// a window in which no document can be among the best so far is skipped. The last terms, which weigh least, may not be
// enough on their own for any document: then only those of the other terms are candidates, and if they are few they are
// looked up in the lists of the last ones. Whatever is skipped, a score that is reported is the sum over all terms, in
// their order, so it has the same bits always.
class PostingSearcher {
 public:
    PostingSearcher();

    // Writes the k best of n documents, best first, and returns how many there are. Terms are summed up in the order
    // given, which should be by falling weight; optional ones come last.
    size_t search(const std::vector<QueryTerm>& terms, size_t n_documents, size_t k, const DocumentsView& documents,
                  int64_t* positions, float* scores);

 private:
    // A term within the current window.
    struct Active {
        const uint16_t* offsets;
        const float* impacts;
        ptrdiff_t count;
        ptrdiff_t rest;  // postings of this term and all that follow
        float weight;
        double bound;  // what this term and all that follow can add
    };

    // Where a term has come to.
    struct Cursor {
        const PostingBlock* block;
        const PostingList* list;
        float weight;
        bool optional;
    };

    float least_before(size_t next) const;
    void search_window(uint32_t window, size_t essential);
    ptrdiff_t add_up(size_t first, size_t last);
    ptrdiff_t take(size_t essential, ptrdiff_t added);
    void report(uint32_t window, ptrdiff_t count);
    void count_buckets();
    void shrink();
    void raise_threshold(uint64_t least);
    void sort_best();
    size_t bucket_of(uint64_t key) const { return (highest_ - static_cast<uint32_t>(key >> 32)) >> shift_; }

    const PostingKernels* kernels_ = nullptr;
    DocumentsView documents_{};
    std::vector<Cursor> cursors_;
    std::vector<Active> active_;
    size_t required_ = 0;            // so many of the active ones, the first, are not optional
    std::vector<float> sums_;        // one per offset; all are 0 between windows
    bool interrupted_ = false;       // whether the last search came to no end
    std::vector<uint16_t> offsets_;  // of candidates
    std::vector<float> scores_;      // of candidates

    // The best so far, as one number each that is larger for a better one: the bits of the score, which is positive,
    // and the position or rank, negated. Only what is above `least_` is kept; its score is `threshold_`.
    std::vector<uint64_t> best_;
    size_t k_ = 0, capacity_ = 0, margin_ = 0;
    double rounding_ = 0;  // a sum of floats is at most this much larger than the true one, as a share of it
    uint64_t least_ = 0;
    float threshold_ = 0;

    static constexpr int kBucketBits = 10;
    static constexpr size_t kBuckets = size_t{1} << kBucketBits;
    std::array<uint32_t, kBuckets + 1> bucket_starts_;
    uint32_t highest_ = 0;  // bits of a score
    int shift_ = 0;
    std::vector<uint64_t> ordered_;
};

}  // namespace sthash::words
