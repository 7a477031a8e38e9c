#include "spectral/kernels.hpp"

#include "simd.hpp"
#include "vectors.hpp"

#define STHASH_KERNELS "spectral/kernels.inc"
#define STHASH_FAMILY spectral_kernels
#include "each_path.inc"

namespace sthash::spectral {

void filter_rows(const FilterStep& step, ptrdiff_t first, ptrdiff_t last) {
    STHASH_PICK(spectral_kernels::filter_rows)(step, first, last);
}

}  // namespace sthash::spectral
