// Postings: for each term the documents that have it, and the exact search for the best of them by BM25.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "parallel.hpp"
#include "words/counts.hpp"
#include "words/posting_list.hpp"
#include "words/posting_search.hpp"

namespace sthash::words {

// Lists of postings, packed: `columns` that any row has, ascending, and one piece for each.
struct PackedPostings {
    std::vector<int32_t> columns;
    PackedPieces lists;
};

// The caller owns the arrays: one piece per column.
struct PackedPostingsView {
    const int32_t* columns;
    PackedPiecesView lists;
};

// Turns rows into lists. Row i is the document ids[i]; ids ascend from 0 on.
PackedPostings pack_postings(const CountsView& rows, const int64_t* ids, int64_t n_columns, int threads,
                             StopFlag& stop);

// Queries: number i has weights[indptr[i]:indptr[i + 1]] for the same part of `columns`; weights of repeated columns
// add up. A document that has no other columns of a query than its optional ones is not found. The caller owns the
// arrays.
struct QueriesView {
    const int64_t* indptr;  // count + 1
    const int32_t* columns;
    const float* weights;
    size_t count, size;
    const int64_t* optional =
        nullptr;  // count: so many of a query's columns, its last ones, are optional; none if null
};

// The k best documents of each query by BM25, best first; of equal scores the lower position comes first. Where fewer
// have a score above 0, positions are -1 and scores 0. Impacts are rounded to floats, and so are their products with
// the weights and the sums of these, which are made by falling weight of the terms, optional ones behind all others;
// equal weights in the order given.
struct BestDocuments {
    std::vector<int64_t> positions;  // count × k
    std::vector<float> scores;       // count × k
};

// Which documents a search takes, and in which order those of equal score come: one entry per position, as
// DocumentsView describes them.
struct Selection {
    std::optional<std::span<const uint8_t>> allowed;
    std::optional<std::span<const uint32_t>> ranks;
};

// Lists in memory, by column. A document has a position, which follows those of all smaller ids. Documents are appended
// and removed; a removed one keeps its position until `compact`, but is never found. All methods may be called by
// several threads at the same time.
class PostingLists {
 public:
    // ids ascend from 0 on, and are fewer than 2^31; lengths are numbers of words.
    PostingLists(std::span<const int64_t> ids, std::span<const int32_t> lengths);

    // Takes the list of a column: its parts, whose ids ascend from part to part, and behind them what `load`,
    // `put_counts` and `add` gave. Ids that no document has are left out. From now on the column is held. A column that
    // is held already stays as it is.
    void put(int32_t column, const std::vector<std::span<const uint8_t>>& parts);

    // Takes whole lists without making them ready for a search. No other postings of their columns may be here.
    void load(const PackedPostingsView& lists);

    // Adds postings of documents that are here, but that no part of a list has.
    void put_counts(const CountsView& rows, const int64_t* ids);

    // Appends documents, whose ids are greater than all before.
    void add(const CountsView& rows, std::span<const int64_t> ids, std::span<const int32_t> lengths);

    // Removes documents by their positions; none if one of them is not there.
    void remove(std::span<const int32_t> positions);

    // Forgets the documents that were removed. The others move up; returns their former positions.
    std::vector<int32_t> compact();

    // Forgets the lists that are not held: from now on, parts have what they had.
    void forget_packed();

    // Lets go of the lists that have not been asked for the longest, until all take at most `most` bytes. Documents
    // from the id `first` on are in no part of a list: their postings stay here. Returns the columns that are held no
    // longer.
    std::vector<int32_t> evict(size_t most, int64_t first);

    bool holds(int32_t column) const;

    // Positions of the documents that have a column, ascending. Throws if the column is not held, as all that follow.
    std::vector<int32_t> positions(int32_t column);
    std::vector<int32_t> document_frequencies(std::span<const int32_t> columns);

    // All lists that are here, held or not, as ids.
    PackedPostings pack() const;

    size_t n_documents() const;        // removed ones included
    size_t live() const;               // without them
    int64_t next_id() const;           // the first that a new document may have
    int64_t n_words() const;           // the sum of the lengths of live documents
    size_t nbytes() const;             // in memory
    std::vector<int64_t> ids() const;  // of live documents
    std::vector<int32_t> lengths() const;

    BestDocuments search(const QueriesView& queries, const Bm25& scoring, size_t k, const Selection& selection,
                         int threads, StopFlag& stop);

 private:
    // The list of a column that is not held: pairs of ids and counts.
    struct Packed {
        std::vector<uint8_t> content;
        int64_t last = -1;  // id

        void append(int64_t id, int32_t count);
    };

    // Documents whose ids follow one another, up to the position of the next run.
    struct IdRun {
        int64_t id, position;
    };

    // A list that is held, how many of removed_ it has been freed from, and when it was last asked for.
    struct Held {
        Held() = default;
        Held(PostingList own, size_t freed) : list(std::move(own)), settled(freed) {}

        PostingList list;
        size_t settled = 0;
        std::atomic<uint64_t> used{0};
    };

    void extend_runs(size_t from);
    int64_t position_of(int64_t id, size_t& hint) const;
    template <class Visit>
    void each_live(std::span<const uint8_t> content, Visit&& visit) const;
    PostingList decoded(int32_t column, std::vector<std::span<const uint8_t>> parts) const;
    void append(const CountsView& rows, std::span<const int64_t> positions);
    Held& held(int32_t column);
    void settle(Held& held) const;
    template <class Use>
    auto with_settled(std::span<const int32_t> columns, Use&& use);
    template <class Value>
    std::vector<Value> of_live(const std::vector<Value>& values) const;
    DocumentsView documents_of(const Selection& selection) const;
    BestDocuments search_prepared(const std::vector<std::vector<QueryTerm>>& terms, size_t k,
                                  const DocumentsView& documents, int threads, StopFlag& stop) const;

    mutable std::shared_mutex mutex_;  // of all that follows
    std::vector<int64_t> ids_;
    std::vector<int32_t> lengths_;
    std::vector<IdRun> runs_;       // of ids_
    std::vector<uint8_t> dead_;     // one per position
    std::vector<int32_t> removed_;  // positions, in the order in which they were removed since the last `compact`
    int64_t last_id_ = -1;          // the greatest that was ever here
    int64_t n_words_ = 0;
    uint64_t changes_ = 0;            // of documents
    std::atomic<uint64_t> clock_{0};  // how often a list was asked for
    std::unordered_map<int32_t, Held> lists_;
    std::unordered_map<int32_t, Packed> packed_;  // of columns that are not held
};

}  // namespace sthash::words
