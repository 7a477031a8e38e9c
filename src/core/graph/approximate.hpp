// The k nearest rows by cosine, nearly all of them, in nearly linear time.
#pragma once

#include "graph/neighbors.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace sthash::graph {

// What bounds the work. None of it depends on the data.
struct ApproximateOptions {
    size_t k;
    uint64_t seed;
    double cells = 3;               // cells per square root of the number of rows
    size_t choices = 8;             // nearest cells that each row remembers
    size_t cell_proposals = 3000;   // rows from cells per block of 32 rows, if they are sparse
    size_t dense_proposals = 5000;  // the same if they are dense, which have no rare terms
    size_t rare_frequency = 400;    // a term of at most so many rows proposes all of them
    size_t rare_proposals = 1500;   // rows that share rare terms, per block
    size_t path_proposals = 4000;   // neighbors of neighbors, per block and round
    size_t rounds = 4;              // of neighbors of neighbors, at most
    double least_fresh = 0.03;      // no further round if the last one found a smaller share of the edges
};

// For each row, k other rows with large inner products, nearly always the largest. Rows must have length 1 or 0. Scores
// are exact, and rows that score 0 or less are no neighbors. Of equal rows only one is searched for, so that many
// copies take no more time than one. Returns n lists. Progress counts blocks of rows, round by round.
NeighborLists approximate_neighbors(const RowsView& rows, size_t n_columns, const ApproximateOptions& options,
                                    int threads, StopFlag& stop, Progress& progress);

}  // namespace sthash::graph
