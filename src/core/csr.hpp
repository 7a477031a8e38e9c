// Rows of a matrix as Python hands them over: a view of its arrays, which must outlive the view.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash {

// One row: `size` columns, ascending, and their values.
struct SparseRow {
    const int32_t* indices;
    const float* values;
    long size;
};

// Compressed sparse rows. Row i has the values values[indptr[i]:indptr[i + 1]]. Their columns are the same part of
// `indices`; if the matrix is dense, all rows share the columns 0, 1, 2, … at the start of `indices`.
struct CsrView {
    const int64_t* indptr;   // n_rows + 1
    const int32_t* indices;  // indptr[n_rows], or the number of columns if dense
    const float* values;     // indptr[n_rows]
    size_t n_rows;
    bool dense;

    SparseRow row(size_t i) const {
        const int64_t first = indptr[i];
        return {indices + (dense ? 0 : first), values + first, static_cast<long>(indptr[i + 1] - first)};
    }
};

}  // namespace sthash
