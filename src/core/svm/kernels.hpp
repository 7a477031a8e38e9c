// The inner loop of the descent, over lanes: sixteen machines side by side, so that one walk along a sparse row serves
// them all.
#pragma once

#include <cstdint>

#include "rows.hpp"

namespace sthash::svm {

// What all machines of a bank share, beside the rows. C_i is the penalty of row i.
struct Terms {
    const float* inverse_curvature;  // n_rows, 1 / (|x_i|² + bias² + diagonal_i)
    const float* diagonal;           // n_rows, 1 / 2C_i for the squared hinge, 0 for the plain one
    const float* upper;  // n_rows, largest dual value: infinity for the squared hinge, C_i for the plain one
    float bias;          // value of the constant feature, 0 for none
};

// The state of up to 64 machines. Every array is aligned to 64 bytes and has groups × 16 lanes per row.
struct Block {
    int groups;         // 1, 2 or 4
    float* weights;     // n_features rows
    float* alphas;      // n_rows rows, the dual values
    float* labels;      // n_rows rows, 1 or -1
    float* intercepts;  // one row
    float* most;        // one row, the largest projected gradient of this round
    float* least;       // one row, the smallest
    int32_t* active;    // one row, -1 for a machine that still learns, else 0
};

// One step of coordinate descent per row, for `count` rows in the order `order`. Changes `block`.
void descend_rows(const RowsView& rows, const Terms& terms, const int32_t* order, ptrdiff_t count, Block& block);

}  // namespace sthash::svm
