// Search among vectors that are grouped into cells: codes choose candidates, the vectors decide.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"

namespace sthash::cells {

inline constexpr size_t kBlock = 32;  // rows whose codes lie side by side

// The rows of a cell fill whole blocks; places without a row have the id -1. A block holds the first byte of its 32
// codes, then the second byte, and so on.
struct Index {
    size_t n_cells, dimension, bytes, n_rows;  // `bytes` per code is even
    const float* centers;                      // dimension × n_cells
    const float* signs;                        // dimension × 8 bytes, sign vectors
    const int64_t* starts;                     // per cell its first block, and the number of all blocks
    const uint8_t* codes;                      // per block bytes × 32
    const uint8_t* factors;                    // per place, the length of its sum of sign vectors
    const uint8_t* shifts;                     // per place, what is added to the estimate
    const float* scales;                       // of factors and shifts, as in Scales
    const int32_t* ids;                        // per place
    const float* vectors;                      // n_rows × dimension
};

struct Request {
    size_t count, k, probes, candidates;  // candidates ≥ k
    const float* queries;                 // count × dimension
};

// Fills k ids and scores per query, best first; -1 and -infinity where there are fewer. A score is the product of query
// and vector. Candidates are those with the largest estimates within the `probes` cells whose centers have the largest
// products with the query; among equal ones, those that come first.
void search(const Index& index, const Request& request, int64_t* ids, float* scores, int threads, StopFlag& stop);

}  // namespace sthash::cells
