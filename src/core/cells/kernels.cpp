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

size_t scan(const uint8_t* blocks, size_t count, size_t bytes, const Tables& tables, const Scales& scales,
            const CellTerms& cell, float limit, int32_t first, Found* found) {
    return STHASH_PICK(cells_kernels::scan)(blocks, count, bytes, tables, scales, cell, limit, first, found);
}

void products(const int16_t* query, const int8_t* bytes, size_t rows, size_t count, int32_t* sums) {
    STHASH_PICK(cells_kernels::products)(query, bytes, rows, count, sums);
}

}  // namespace sthash::cells
