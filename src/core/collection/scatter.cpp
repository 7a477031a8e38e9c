#include "collection/scatter.hpp"

#include "simd.hpp"

#define STHASH_KERNELS "collection/scatter.inc"
#define STHASH_FAMILY scatter_kernels
#include "each_path.inc"

namespace sthash {

std::vector<float> scatter_rows(const CsrView& rows, size_t words, uint64_t seed, int threads, StopFlag& stop) {
    const auto scatter_row = STHASH_PICK(scatter_kernels::scatter_row);
    std::vector<float> sums(rows.n_rows * 64 * words);
    parallel_for(rows.n_rows, 64, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row)
            scatter_row(rows.row(row), static_cast<long>(words), seed, sums.data() + row * 64 * words);
    });
    return sums;
}

}  // namespace sthash
