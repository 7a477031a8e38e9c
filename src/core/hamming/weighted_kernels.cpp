#include "hamming/weighted_kernels.hpp"

#include <bit>
#include <cstring>

#include "simd.hpp"

#define STHASH_KERNELS "hamming/weighted_kernels.inc"
#define STHASH_FAMILY weighted_kernels
#include "each_path.inc"

namespace sthash::hamming::weighted {

const Kernels& kernels() {
    return STHASH_PICK(weighted_kernels::kKernels);
}

}  // namespace sthash::hamming::weighted
