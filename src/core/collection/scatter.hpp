// Random hyperplanes that take no room: the sides of the columns are made by a hash when they are needed.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

#define STHASH_KERNELS "collection/scatter.inc"
#include "each_path.inc"

namespace sthash {

inline void scatter_row(const int* columns, const float* values, long size, long words, unsigned long seed,
                        float* sums) {
    STHASH_DISPATCH(scatter_row(columns, values, size, words, seed, sums))
}

// For each row, and each of 64 * words planes, the row's values added up where a column lies on the upper side, taken
// off where it lies on the lower one.
inline std::vector<float> scatter_rows(const int64_t* indptr, const int32_t* indices, const float* values, size_t rows,
                                       size_t words, uint64_t seed, int threads, StopFlag& stop) {
    std::vector<float> sums(rows * 64 * words);
    parallel_for(rows, 64, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row)
            scatter_row(indices + indptr[row], values + indptr[row], static_cast<long>(indptr[row + 1] - indptr[row]),
                        static_cast<long>(words), seed, sums.data() + row * 64 * words);
    });
    return sums;
}

}  // namespace sthash
