// Sparse rows whose terms are numbered by document frequency, the most common term first.
#pragma once

#include <cstdint>
#include <vector>

#include "csr.hpp"

namespace sthash {

// A copy of rows of a sparse matrix. Within a row the terms ascend, so the common ones come first.
struct RankedRows {
    // Takes the rows chosen[0], chosen[1], … of the matrix, in this order.
    RankedRows(const CsrView& matrix, size_t n_columns, const std::vector<int32_t>& chosen);

    size_t size(size_t row) const { return static_cast<size_t>(indptr[row + 1] - indptr[row]); }
    size_t n() const { return indptr.size() - 1; }
    size_t n_terms() const { return frequency.size(); }

    std::vector<int64_t> frequency;  // by term
    std::vector<int64_t> indptr;     // n + 1
    std::vector<int32_t> terms;
    std::vector<float> weights;
};

// The inner product of a row with a query that is spread out over all terms. It is added up in double precision and in
// the order of the terms, so that no order of work can change a score or a tie.
inline double exact_product(const RankedRows& rows, size_t row, const float* query) {
    double sum = 0;
    for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at)
        sum += static_cast<double>(query[rows.terms[at]]) * rows.weights[at];
    return sum;
}

}  // namespace sthash
