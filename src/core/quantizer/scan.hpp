// The best codes of a corpus for queries, by the estimates of the quantizer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"

namespace sthash::quantizer {

// Codes of `bytes` bytes each. The last one chooses a factor and a shift.
struct CodeTable {
    size_t count;
    size_t bytes;
    const uint8_t* codes;
    const float* corrections;  // 256 pairs
};

// Per query: 256 values for each byte of a code but the last, and what is added to all its scores.
struct QueryTables {
    size_t count;
    const float* tables;
    const float* offsets;
};

// Fills k places per query, best first, the first one among equals: score = (offset + factor × sum) + shift, where the
// sum is taken in the order of the bytes. `k` is at most the number of codes.
void scan(const CodeTable& table, const QueryTables& queries, size_t k, int64_t* ids, float* scores, int threads,
          StopFlag& stop);

}  // namespace sthash::quantizer
