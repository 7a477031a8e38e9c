// The inner loops of the search in cells, for the path that the machine runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::cells {

// sums[i] = Σ_j low[j][code_ij & 15] + high[j][code_ij >> 4] over the bytes j of the 32 codes of a block. Tables have
// 32 bytes per j: 16 values of at most 127, twice.
void add_lookups(const uint8_t* block, size_t bytes, const uint8_t* low, const uint8_t* high, uint16_t* sums);

// Product of two vectors, added up in 16 lanes and then in a fixed order.
float dot(const float* left, const float* right, size_t count);

}  // namespace sthash::cells
