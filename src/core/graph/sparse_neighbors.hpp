// The exact k nearest rows of a sparse matrix by inner product, each row against all others.
#pragma once

#include "graph/neighbors.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace sthash::graph {

// The caller owns all arrays.
struct SparseGraphProblem {
    RowsView rows;         // n rows, not dense
    size_t n_columns;      // every column is below it
    const float* penalty;  // n, taken off the score of a row as a neighbor: 0 ranks by inner product, half the squared
                           // norm by Euclidean distance
    double common_share;   // a term is common if more than this share of the rows have it; changes the time only
};

// For each row, the k other rows with the largest inner product less penalty. Returns n lists.
NeighborLists sparse_neighbors(const SparseGraphProblem& problem, size_t k, int threads, StopFlag& stop);

}  // namespace sthash::graph
