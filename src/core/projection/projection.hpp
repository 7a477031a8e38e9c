// Rows projected onto planes: those that were learned, and random ones.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace sthash::projection {

// A dense matrix of `width` floats per column of the rows that it is multiplied with. The width is a multiple of
// kLanesInGroup.
struct WeightMatrix {
    const float* weights;
    ptrdiff_t width;
};

// Rows times weights: n_rows × width margins, each added up in the order of the row.
std::vector<float> project(const RowsView& rows, const WeightMatrix& matrix, int threads, StopFlag& stop);

// For each row, and each of 64 × words random planes, adds up the values of the row, with the sign of the side of the
// plane on which their column lies. Returns n_rows × 64 × words sums. Planes depend on `seed` and `words`; they take no
// memory, because the sides of a column are made by a hash when they are needed. Columns may be any number from 0 to
// 2^31 - 1.
std::vector<float> scatter(const RowsView& rows, size_t words, uint64_t seed, int threads, StopFlag& stop);

}  // namespace sthash::projection
