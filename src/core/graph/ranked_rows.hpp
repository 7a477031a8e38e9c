// Sparse rows whose terms are numbered by document frequency, the most common term first.
#pragma once

#include <cstdint>
#include <vector>

#include "rows.hpp"

namespace sthash::graph {

// A copy of rows of a sparse matrix. Within a row the terms ascend, so the common ones come first.
struct RankedRows {
    // Takes the rows chosen[0], chosen[1], … of the matrix, in this order.
    RankedRows(const RowsView& matrix, size_t n_columns, const std::vector<int32_t>& chosen);

    SparseRow row(size_t i) const {
        return {terms.data() + indptr[i], weights.data() + indptr[i],
                static_cast<ptrdiff_t>(indptr[i + 1] - indptr[i])};
    }
    size_t n() const { return indptr.size() - 1; }
    size_t n_terms() const { return frequency.size(); }

    std::vector<int64_t> frequency;  // by term
    std::vector<int64_t> indptr;     // n + 1
    std::vector<int32_t> terms;
    std::vector<float> weights;
};

}  // namespace sthash::graph
