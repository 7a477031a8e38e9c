// The inner loop of the approximate search: one row against a block of queries, in 16-bit integers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash {

constexpr size_t block_size = 32;  // queries per block

// A block of queries spread out over its columns: query q has the weight weights[slot * block_size + q] in the column
// of that slot. Slot 0 is all zeros. Weights are 2^15 times as large as they are.
struct BlockView {
    const int16_t* weights;
    const uint16_t* slots;  // slot of each column; null if the rows are dense, whose column c has slot c + 1
};

// Rows as they are compared with blocks: the weights are 2^15 times as large as they are.
struct QuantizedView {
    const int64_t* indptr;   // n_rows + 1; unused if dense
    const int32_t* columns;  // null if the rows are dense
    const int16_t* weights;
    size_t width;  // columns of a dense row
};

// Scores the rows `rows[0 … count - 1]` against the block, from `*next` on. A score is the sum of (a b) >> 16 over the
// columns: 2^14 times the inner product, a little less. For each row that scores more than thresholds[q] with any query
// q, its place in `rows` goes to `reached`, the set of those queries to `above`, and all block_size scores to `scores`.
// Returns how many such rows there are, at most `most`; `*next` is then where to go on.
size_t rows_above(const BlockView& block, const QuantizedView& given, const int32_t* rows, size_t count,
                  const int16_t* thresholds, size_t most, int32_t* reached, uint32_t* above, int16_t* scores,
                  size_t* next);

}  // namespace sthash
