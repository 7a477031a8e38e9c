#include "svm/kernels.hpp"

#include "simd.hpp"

#define STHASH_KERNELS "svm/kernels.inc"
#define STHASH_FAMILY svm_kernels
#include "each_path.inc"

namespace sthash {

void descend_rows(const CsrView& rows, const float* inverse_curvature, const int32_t* order, long count,
                  const SvmSettings& settings, SvmBlock& block) {
    STHASH_PICK(svm_kernels::descend_rows)(rows, inverse_curvature, order, count, settings, block);
}

void project_rows(const CsrView& rows, long first, long last, const WeightMatrix& matrix, float* margins) {
    STHASH_PICK(svm_kernels::project_rows)(rows, first, last, matrix, margins);
}

}  // namespace sthash
