#include "cells/kernels.hpp"

#include <cstring>

#include "simd.hpp"
#if STHASH_X86
#include <immintrin.h>
#endif

#define STHASH_KERNELS "cells/kernels.inc"
#define STHASH_FAMILY cells_kernels
#include "each_path.inc"

namespace sthash::cells {

void add_lookups(const uint8_t* block, size_t bytes, const uint8_t* low, const uint8_t* high, uint16_t* sums) {
    STHASH_PICK(cells_kernels::add_lookups)(block, bytes, low, high, sums);
}

float dot(const float* left, const float* right, size_t count) {
    return STHASH_PICK(cells_kernels::dot)(left, right, count);
}

}  // namespace sthash::cells
