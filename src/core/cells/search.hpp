// Search among vectors that are grouped into cells: codes choose candidates, the vectors decide.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cells/kernels.hpp"
#include "parallel.hpp"

namespace sthash::cells {

enum class Precision { float32, float16, int8 };

// The rows of a cell are at the first places of its blocks; those that are left over have the id -1. A block holds the
// first byte of its 32 codes, then the second byte, and so on, then the 32 factors and the 32 shifts.
struct Index {
    size_t n_cells, dimension, bytes, n_rows;  // `bytes` per code is even
    const int8_t* centers;                     // n_cells × dimension
    const float* lengths;                      // per cell what 1 stands for in its center, 1 / |center|², and a weight
    const float* signs;                        // dimension × 8 bytes, sign vectors
    const int64_t* starts;                     // per cell its first block, and the number of all blocks
    const int32_t* sizes;                      // per cell its number of rows
    const uint8_t* blocks;                     // per block (bytes + 2) × 32
    const float* scales;                       // of factors and shifts, as in Scales
    const int32_t* ids;                        // per place
    const void* vectors;                       // n_rows × dimension
    Precision precision;                       // of vectors
    const float* steps;                        // per dimension what 1 stands for, if vectors are int8
};

struct Request {
    size_t count, k, probes, candidates;  // candidates ≥ k
    float margin;                         // of cells
    const float* queries;                 // count × dimension
};

// Fills k ids and scores per query, best first; -1 and -infinity where there are fewer. A score is the product of query
// and vector. A cell is rated by the product of its center and the query, times the weight of the cell. Candidates are
// those with the largest estimates within the cells that are rated at most `margin` below the best one; among equal
// ones, those in the first places. There are at most `probes` cells, and more than those within the margin if they have
// too few rows for the candidates.
void search(const Index& index, const Request& request, int64_t* ids, float* scores, int threads, StopFlag& stop);

}  // namespace sthash::cells
