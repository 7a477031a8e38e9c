#include "graph/block_kernels.hpp"

#include <cstring>

#include "compiler.hpp"
#include "simd.hpp"

#if STHASH_X86
#include <immintrin.h>
#endif

#define STHASH_KERNELS "graph/block_kernels.inc"
#define STHASH_FAMILY block_kernels
#include "each_path.inc"

namespace sthash::graph {

size_t rows_above(const BlockView& block, const QuantizedView& given, const int32_t* rows, size_t count,
                  const int16_t* thresholds, size_t most, int32_t* reached, uint32_t* above, int16_t* scores,
                  size_t* next) {
    return STHASH_PICK(block_kernels::rows_above)(block, given, rows, count, thresholds, most, reached, above, scores,
                                                  next);
}

}  // namespace sthash::graph
