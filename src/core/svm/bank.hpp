// A bank of linear support vector machines over the same rows, one per bit, by dual coordinate descent.
//
// Each machine solves, as LIBLINEAR does (Hsieh et al., "A Dual Coordinate Descent Method for Large-scale Linear SVM",
// ICML 2008), min_w ½ wᵀw + Σ C_i loss(y_i wᵀx_i) with the squared or the plain hinge. All machines visit the rows in
// the same order, so the walk along a sparse row, the expensive part, is done once for all bits of a block. A bit whose
// projected gradients span at most the tolerance is done; it leaves the block, which is made narrower as bits leave.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"
#include "svm/kernels.hpp"

namespace sthash::svm {

// The caller owns all arrays.
struct Problem {
    RowsView rows;
    size_t n_features;    // every column of the rows is below it
    size_t n_bits;        // machines
    const uint8_t* bits;  // n_rows × n_bits, 0 or 1: what each machine is to predict
    Terms terms;
    double tolerance;  // a bit is done when its projected gradients span at most this
    int max_rounds;    // over the rows
    uint64_t seed;     // of the order in which rows are visited
};

struct Solution {
    std::vector<float> weights;     // n_features × n_bits
    std::vector<float> intercepts;  // n_bits
    std::vector<int32_t> rounds;    // n_bits; max_rounds + 1 where a bit did not converge
};

// The solution depends neither on the number of threads nor on the SIMD path. It is incomplete after a stop.
// Progress counts the bits that are done.
Solution solve_bank(const Problem& problem, int threads, StopFlag& stop, Progress& progress);

}  // namespace sthash::svm
