// Postings: for each term the documents that have it, and the exact search for the best of them by BM25.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "collection/counts.hpp"
#include "collection/posting_list.hpp"
#include "collection/posting_search.hpp"
#include "parallel.hpp"

namespace sthash {

// Lists of postings, packed: `columns` that any row has, ascending, and one piece for each.
struct PackedPostings {
    std::vector<int32_t> columns;
    PackedPieces lists;
};

// Turns rows into lists. Row i is the document ids[i]; ids ascend from 0 on.
PackedPostings pack_postings(const CountsView& rows, const int64_t* ids, int64_t n_columns, int threads,
                             StopFlag& stop);

// Queries: number i has weights[indptr[i]:indptr[i + 1]] for the same part of `columns`, in any order; weights of
// repeated columns add up. The caller owns the arrays.
struct QueriesView {
    const int64_t* indptr;  // count + 1
    const int32_t* columns;
    const float* weights;
    size_t count, size;
};

// The k best documents of each query by BM25, best first; of equal scores the lower position comes first. Where fewer
// have a score above 0, positions are -1 and scores 0. Impacts are rounded to floats, and so are their products with
// the weights and the sums of these, which are made by falling weight of the terms, then by ascending column.
struct BestDocuments {
    std::vector<int64_t> positions;  // count × k
    std::vector<float> scores;       // count × k
};

// The lists of one snapshot, in memory, by column. A document is known by its position among the live ids. All methods
// may be called by several threads at the same time.
class PostingLists {
 public:
    // ids ascend from 0 on, and are fewer than 2^31; lengths are numbers of words.
    PostingLists(std::span<const int64_t> ids, std::span<const int32_t> lengths);

    // Takes the list of a column: its parts, whose ids ascend from part to part. Documents that are not live are left
    // out. A column that is held already stays as it is.
    void put(int32_t column, const std::vector<std::span<const uint8_t>>& parts);

    // Adds documents that no part of a list has. Their columns are held only once they were put, with or without parts.
    void put_counts(const CountsView& rows, const int64_t* ids);

    bool holds(int32_t column) const;

    // Positions of the documents that have a column, ascending. Throws if the column is not held.
    std::vector<int32_t> positions(int32_t column) const;
    size_t document_frequency(int32_t column) const;

    // Bytes in memory.
    size_t nbytes() const;

    // `allowed` has one byte per position, zero for documents to leave out; or it is null.
    BestDocuments search(const QueriesView& queries, const Bm25& scoring, size_t k, const uint8_t* allowed, int threads,
                         StopFlag& stop);

    size_t n_documents() const { return ids_.size(); }

 private:
    // A posting of put_counts.
    struct Added {
        int32_t position, count;
    };

    int64_t position_of(int64_t id, size_t& hint) const;
    std::vector<QueryTerm> terms_of(const QueriesView& queries, size_t query);
    BestDocuments search_prepared(const std::vector<std::vector<QueryTerm>>& terms, size_t k, const uint8_t* allowed,
                                  int threads, StopFlag& stop) const;

    std::vector<int64_t> ids_;
    std::vector<int32_t> lengths_;
    mutable std::shared_mutex mutex_;  // of what follows
    std::unordered_map<int32_t, PostingList> lists_;
    std::unordered_map<int32_t, std::vector<Added>> added_;  // of columns that are not held
};

}  // namespace sthash
