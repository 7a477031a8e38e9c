#include "projection/projection.hpp"

#include "simd.hpp"

#define STHASH_KERNELS "projection/kernels.inc"
#define STHASH_FAMILY projection_kernels
#include "each_path.inc"

namespace sthash::projection {

std::vector<float> project(const RowsView& rows, const WeightMatrix& matrix, int threads, StopFlag& stop) {
    const auto project_row = STHASH_PICK(projection_kernels::project_row);
    const auto width = static_cast<size_t>(matrix.width);
    std::vector<float> margins(rows.n_rows * width);
    parallel_for(rows.n_rows, 64, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) project_row(rows.row(row), matrix, margins.data() + row * width);
    });
    return margins;
}

std::vector<float> scatter(const RowsView& rows, size_t words, uint64_t seed, int threads, StopFlag& stop) {
    const auto scatter_row = STHASH_PICK(projection_kernels::scatter_row);
    std::vector<float> sums(rows.n_rows * 64 * words);
    parallel_for(rows.n_rows, 64, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row)
            scatter_row(rows.row(row), static_cast<ptrdiff_t>(words), seed, sums.data() + row * 64 * words);
    });
    return sums;
}

}  // namespace sthash::projection
