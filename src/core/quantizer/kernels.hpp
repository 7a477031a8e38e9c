// The inner loops of the quantizer, for the path that the machine runs.
#pragma once

#include "quantizer/encode.hpp"

namespace sthash::quantizer {

// Encodes the rows [first, last).
void encode_rows(const Codewords& words, const Products& products, size_t first, size_t last, const Encoded& encoded,
                 Scratch& scratch);

// products[i, :] = x_iᵀ weights, each sum in the order of the row. `weights` has `depth` rows of `width` floats.
void multiply_rows(const float* rows, size_t count, size_t depth, const float* weights, size_t width, float* products);

}  // namespace sthash::quantizer
