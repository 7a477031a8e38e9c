#include "graph/kernels.hpp"

#include <limits>

#include "simd.hpp"

#define STHASH_KERNELS "graph/kernels.inc"
#define STHASH_FAMILY graph_kernels
#include "each_path.inc"

namespace sthash::graph {

ptrdiff_t rows_reaching(const ScoreTerms& terms, float threshold, int32_t* reached) {
    return STHASH_PICK(graph_kernels::rows_reaching)(terms, threshold, reached);
}

ptrdiff_t block_maxima(const ScoreTerms& terms, ptrdiff_t block, float* maxima) {
    return STHASH_PICK(graph_kernels::block_maxima)(terms, block, maxima);
}

}  // namespace sthash::graph
