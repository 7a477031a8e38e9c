#include "dot.hpp"

#include <algorithm>
#include <bit>

#include "simd.hpp"

#define STHASH_KERNELS "dot.inc"
#define STHASH_FAMILY dot_kernels
#include "each_path.inc"

namespace sthash {

float dot(const float* left, const float* right, size_t count) {
    return STHASH_PICK(dot_kernels::dot<float>)(left, right, count);
}

float dot(const float* left, const uint16_t* halves, size_t count) {
    return STHASH_PICK(dot_kernels::dot<uint16_t>)(left, halves, count);
}

float dot(const float* left, const int8_t* bytes, size_t count) {
    return STHASH_PICK(dot_kernels::dot<int8_t>)(left, bytes, count);
}

float dot(const SparseRow& row, const float* dense) {
    return STHASH_PICK(dot_kernels::dot_sparse)(row.indices, row.values, row.size, dense);
}

float dot(const SparseRow& left, const SparseRow& right) {
    float sum = 0;
    for_each_shared(left.indices, static_cast<size_t>(left.size), right.indices, static_cast<size_t>(right.size),
                    [&](size_t i, size_t j) { sum += left.values[i] * right.values[j]; });
    return sum;
}

double exact_dot(const float* left, const float* right, size_t count) {
    double sum = 0;
    for (size_t at = 0; at < count; ++at) sum += static_cast<double>(left[at]) * right[at];
    return sum;
}

double exact_dot(const SparseRow& row, const float* dense) {
    double sum = 0;
    for (ptrdiff_t at = 0; at < row.size; ++at) sum += static_cast<double>(dense[row.indices[at]]) * row.values[at];
    return sum;
}

// Eight rows at a time: each sum waits for its last addition, so the others fill in.
void exact_dots(const float* left, const float* const* rows, size_t n_rows, size_t count, double* products) {
    constexpr size_t kTogether = 8;
    for (size_t first = 0; first < n_rows; first += kTogether) {
        const size_t n = std::min(kTogether, n_rows - first);
        const float* some[kTogether];
        double sums[kTogether] = {};
        for (size_t r = 0; r < kTogether; ++r) some[r] = r < n ? rows[first + r] : left;
        for (size_t at = 0; at < count; ++at)
            for (size_t r = 0; r < kTogether; ++r) sums[r] += static_cast<double>(left[at]) * some[r][at];
        std::copy_n(sums, n, products + first);
    }
}

}  // namespace sthash
