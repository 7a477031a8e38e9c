#include "quantizer/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "simd.hpp"

#define STHASH_KERNELS "quantizer/kernels.inc"
#define STHASH_FAMILY quantizer_kernels
#include "each_path.inc"

namespace sthash::quantizer {

void encode_rows(const Codewords& words, const Products& products, size_t first, size_t last, const Encoded& encoded,
                 Scratch& scratch) {
    STHASH_PICK(quantizer_kernels::encode_rows)(words, products, first, last, encoded, scratch);
}

}  // namespace sthash::quantizer
