#include "svm/kernels.hpp"

#include "simd.hpp"

#define STHASH_KERNELS "svm/kernels.inc"
#define STHASH_FAMILY svm_kernels
#include "each_path.inc"

namespace sthash::svm {

void descend_rows(const RowsView& rows, const Terms& terms, const int32_t* order, ptrdiff_t count, Block& block) {
    STHASH_PICK(svm_kernels::descend_rows)(rows, terms, order, count, block);
}

}  // namespace sthash::svm
