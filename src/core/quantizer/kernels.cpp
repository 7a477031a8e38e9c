#include "quantizer/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "simd.hpp"
#include "vectors.hpp"

#define STHASH_KERNELS "quantizer/kernels.inc"
#define STHASH_FAMILY quantizer_kernels
#include "each_path.inc"

namespace sthash::quantizer {

void encode_rows(const Codewords& words, const Products& products, size_t first, size_t last, const Encoded& encoded,
                 Scratch& scratch) {
    STHASH_PICK(quantizer_kernels::encode_rows)(words, products, first, last, encoded, scratch);
}

void multiply_rows(const float* rows, size_t count, size_t depth, const float* weights, size_t width, float* products) {
    STHASH_PICK(quantizer_kernels::multiply_rows)(rows, count, depth, weights, width, products);
}

}  // namespace sthash::quantizer
