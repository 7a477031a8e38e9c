// The inner loops of the quantizer, for the path that the machine runs.
#pragma once

#include "quantizer/encode.hpp"

namespace sthash::quantizer {

// Encodes the rows [first, last).
void encode_rows(const Codewords& words, const Products& products, size_t first, size_t last, const Encoded& encoded,
                 Scratch& scratch);

}  // namespace sthash::quantizer
