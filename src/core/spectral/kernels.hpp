// Products of a graph with a block of vectors, the inner loop of the eigensolver for large graphs.
#pragma once

#include "rows.hpp"

namespace sthash::spectral {

// One step of a three-term recurrence, as Chebyshev polynomials have it: next = scale · A now + shift · now + past ·
// next. All of `now` is read, and `next` is read and written row by row, so they must not overlap.
struct FilterStep {
    RowsView matrix;   // A, sparse
    const float* now;  // a row per column of the matrix, `width` floats each
    float* next;       // a row per row of the matrix; not read if `past` is 0
    ptrdiff_t width;   // a multiple of kLanesInGroup
    float scale, shift, past;
};

// The rows [first, last) of the step. Each sum is added up in the order of the row.
void filter_rows(const FilterStep& step, ptrdiff_t first, ptrdiff_t last);

}  // namespace sthash::spectral
