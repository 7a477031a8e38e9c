#include "spectral/kernels.hpp"

#include "simd.hpp"
#include "svm/kernels.hpp"
#include "vectors.hpp"

#define STHASH_KERNELS "spectral/kernels.inc"
#define STHASH_FAMILY spectral_kernels
#include "each_path.inc"

namespace sthash {

void filter_rows(const FilterStep& step, long first, long last) {
    STHASH_PICK(spectral_kernels::filter_rows)(step, first, last);
}

}  // namespace sthash
