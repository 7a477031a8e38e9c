#include "hamming/kernels.hpp"

#include <cstring>

#include "simd.hpp"
#if STHASH_X86
#include <immintrin.h>
#endif

#define STHASH_KERNELS "hamming/kernels.inc"
#define STHASH_FAMILY hamming_kernels
#include "each_path.inc"

namespace sthash::hamming {

const Kernels& kernels() {
    return STHASH_PICK(hamming_kernels::table);
}

}  // namespace sthash::hamming
