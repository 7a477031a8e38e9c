// The exact k nearest rows of a dense matrix, and the k best columns of dense rows of scores.
#pragma once

#include "graph/neighbors.hpp"
#include "parallel.hpp"

namespace sthash::graph {

// A block of queries: the rows first … first + count - 1 of a dense matrix of n rows and d columns. The caller owns all
// arrays.
struct DenseBlock {
    const float* rows;     // n × d, all rows
    float* products;       // count × n, inner products of the block with all rows, in single precision; overwritten
    const float* penalty;  // n, taken off the score of a row as a neighbor: 0, or half its squared norm
    const float* norms;    // n
    float largest_norm;
    size_t n, d, first, count;
};

// For each row of the block, the k other rows with the largest inner product less penalty. Returns `count` lists.
NeighborLists dense_neighbors(const DenseBlock& block, size_t k, int threads, StopFlag& stop);

// Scores of `count` queries against `n` columns, row by row. The caller owns them.
struct ScoreMatrix {
    const float* scores;
    size_t count, n;
};

// The k columns with the largest scores in each row. Returns `count` lists.
NeighborLists largest_in_rows(const ScoreMatrix& matrix, size_t k, int threads, StopFlag& stop);

}  // namespace sthash::graph
