// What a similarity join looks rows up by: their columns in order of rarity, and the rows of each column.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace sthash::join {

// Rows whose columns are numbered by how many rows have them, the rarest first, and ascend in each row. A column that
// only one row has is left out.
struct RankedRows {
    std::vector<int64_t> indptr;
    std::vector<int32_t> columns;
    std::vector<float> weights;
    std::vector<double> shared_squares;  // the squared length of what is there
    size_t n_columns = 0;

    size_t size() const { return indptr.size() - 1; }
    int64_t begin(size_t row) const { return indptr[row]; }
    int64_t end(size_t row) const { return indptr[row + 1]; }
    const int64_t* ends() const { return indptr.data() + 1; }
};

// Of the rows that are chosen. No two of those that are `exclusive` are compared with each other, so a column that only
// they have is left out of them; an empty vector stands for none.
RankedRows rarest_first(const RowsView& rows, size_t n_columns, const std::vector<int64_t>& chosen,
                        const std::vector<uint8_t>& exclusive, int threads, StopFlag& stop);

// For each column the rows that have it before the given ends, ascending: first those that are compared with all
// others, then the exclusive ones.
class ColumnLists {
 public:
    ColumnLists() = default;
    ColumnLists(const RankedRows& rows, const int64_t* ends, const std::vector<uint8_t>& exclusive);

    std::span<const int32_t> of(int32_t column) const { return span(starts_[column], middles_[column]); }
    std::span<const int32_t> exclusive_of(int32_t column) const { return span(middles_[column], starts_[column + 1]); }
    int64_t length(int32_t column) const { return starts_[column + 1] - starts_[column]; }

    // The length up to which lists can be read, for each of their rows from `first` on, with at most so many looks at a
    // row. The largest number if all can.
    int64_t longest_within(double looks, size_t first) const;

 private:
    std::span<const int32_t> span(int64_t from, int64_t to) const {
        return {rows_.data() + from, static_cast<size_t>(to - from)};
    }

    std::vector<int64_t> starts_{0}, middles_;
    std::vector<int32_t> rows_;
};

// For rows with columns whose lists are too long to be read: a few earlier rows that are likely to be the most similar
// of the list. Rows are sorted by the smallest hash of their columns, so that similar ones are likely to be next to
// each other (A. Broder's min-wise hashing, and the sorted neighborhoods of record linkage).
class AlikeRows {
 public:
    AlikeRows() = default;
    AlikeRows(const RankedRows& rows, const int64_t* prefix_ends, const ColumnLists& lists, int64_t longest,
              size_t first_query, int threads, StopFlag& stop);

    std::span<const int32_t> of(size_t row) const {
        if (starts_.empty()) return {};
        return {others_.data() + starts_[row], static_cast<size_t>(starts_[row + 1] - starts_[row])};
    }

 private:
    std::vector<int64_t> starts_;
    std::vector<int32_t> others_;
};

}  // namespace sthash::join
