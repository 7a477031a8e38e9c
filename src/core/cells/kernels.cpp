#include "cells/kernels.hpp"

#include <cstring>

#include "simd.hpp"
#include "vectors.hpp"
#if STHASH_X86
#include <immintrin.h>
#endif

#define STHASH_KERNELS "cells/kernels.inc"
#define STHASH_FAMILY cells_kernels
#include "each_path.inc"

namespace sthash::cells {

bool estimate(const Block& block, size_t bytes, const Tables& tables, const Scales& scales, float product, float limit,
              float* estimates) {
    return STHASH_PICK(cells_kernels::estimate)(block, bytes, tables, scales, product, limit, estimates);
}

float dot(const float* left, const float* right, size_t count) {
    return STHASH_PICK(cells_kernels::dot)(left, right, count);
}

}  // namespace sthash::cells
