#include "hamming/kernels.hpp"

#include <bit>
#include <cstring>

#include "simd.hpp"

#define STHASH_KERNELS "hamming/kernels.inc"
#define STHASH_FAMILY hamming_kernels
#include "each_path.inc"

namespace sthash::hamming {

const Kernels& kernels() {
    return STHASH_PICK(hamming_kernels::table);
}

}  // namespace sthash::hamming
