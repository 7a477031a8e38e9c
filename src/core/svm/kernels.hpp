// Inner loops over lanes: sixteen outputs side by side, so that one walk along a sparse row serves them all.
#pragma once

#include <cstdint>

#include "csr.hpp"

namespace sthash {

inline constexpr int lanes_in_group = 16;

// What all machines of a bank share.
struct SvmSettings {
    float diagonal;  // 1 / 2C for the squared hinge, 0 for the plain one
    float upper;     // largest dual value: infinity for the squared hinge, C for the plain one
    float bias;      // value of the constant feature, 0 for none
};

// The state of up to 64 machines. Every array is aligned to 64 bytes and has groups × 16 lanes per row.
struct SvmBlock {
    int groups;         // 1, 2 or 4
    float* weights;     // n_features rows
    float* alphas;      // n_rows rows, the dual values
    float* labels;      // n_rows rows, 1 or -1
    float* intercepts;  // one row
    float* most;        // one row, the largest projected gradient of this round
    float* least;       // one row, the smallest
    int32_t* active;    // one row, -1 for a machine that still learns, else 0
};

// One step of coordinate descent per row, for `count` rows in the order `order`. `inverse_curvature` has
// 1 / (|x_i|² + bias² + diagonal) per row. Changes `block`.
void descend_rows(const CsrView& rows, const float* inverse_curvature, const int32_t* order, long count,
                  const SvmSettings& settings, SvmBlock& block);

// A dense matrix of `width` floats per column of the rows that it is multiplied with; a whole number of groups of
// lanes.
struct WeightMatrix {
    const float* weights;
    long width;
};

// margins[i, :] = x_iᵀ weights for the rows [first, last). `margins` has `width` floats per row of `rows`.
void project_rows(const CsrView& rows, long first, long last, const WeightMatrix& matrix, float* margins);

}  // namespace sthash
