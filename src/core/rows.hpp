// Rows of vectors as Python hands them over: a view of its arrays, which must outlive the view.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash {

// One row: `size` columns, ascending, and their values.
struct SparseRow {
    const int32_t* indices;
    const float* values;
    ptrdiff_t size;
};

// Row i has the values values[starts[i]:ends[i]]. Their columns are the same part of `columns`; dense rows share the
// columns 0, 1, 2, …, n_columns - 1 at its start. Rows may be in any order, and share entries: some of the rows of a
// table are a view of its arrays.
struct RowsView {
    const int64_t *starts, *ends;  // n_rows each
    const int32_t* columns;
    const float* values;
    size_t n_rows, n_columns;
    bool dense;

    SparseRow row(size_t i) const {
        const int64_t start = starts[i];
        return {columns + (dense ? 0 : start), values + start, static_cast<ptrdiff_t>(ends[i] - start)};
    }
};

// Sparse rows from the bounds of a CSR matrix: row i has the entries from bounds[i] to bounds[i + 1].
inline RowsView csr_rows(const int64_t* bounds, const int32_t* columns, const float* values, size_t n_rows,
                         size_t n_columns) {
    return {bounds, bounds + 1, columns, values, n_rows, n_columns, false};
}

}  // namespace sthash
