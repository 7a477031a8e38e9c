#include "quantizer/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "simd.hpp"
#include "vectors.hpp"

#define STHASH_KERNELS "quantizer/choice.inc"
#define STHASH_FAMILY choice_kernels
#include "each_path.inc"

#define STHASH_KERNELS "quantizer/products.inc"
#define STHASH_FAMILY product_kernels
#include "each_path.inc"

namespace sthash::quantizer {

void multiply_bytes(const ByteBlocks& blocks, size_t first, size_t count, const graph::QuantizedView& rows, size_t n,
                    int16_t* products) {
    STHASH_PICK(product_kernels::multiply_bytes)(blocks, first, count, rows, n, products);
}

void choose_words(const BookView& view, size_t n, size_t beam, size_t kept, Scratch& scratch) {
    STHASH_PICK(choice_kernels::choose_words)(view, n, beam, kept, scratch);
}

float square_of_sum(const float* words, size_t books, size_t columns, const uint8_t* code, float* sum) {
    return STHASH_PICK(choice_kernels::square_of_sum)(words, books, columns, code, sum);
}

float choose_signs(const SignView& view, const int16_t* products, const std::vector<const int16_t*>& costs,
                   Scratch& scratch, uint8_t* code) {
    return STHASH_PICK(choice_kernels::choose_signs)(view, products, costs, scratch, code);
}

void multiply_rows(const float* rows, size_t count, size_t depth, const float* weights, size_t width, float* products) {
    STHASH_PICK(product_kernels::multiply_rows)(rows, count, depth, weights, width, products);
}

}  // namespace sthash::quantizer
