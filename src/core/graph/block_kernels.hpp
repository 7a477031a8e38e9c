// The inner loop of the approximate search: one row against a block of queries, in 16-bit integers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::graph {

constexpr size_t kBlockSize = 32;  // queries per block

// A block of queries spread out over its columns. Sparse: query q has the weight weights[slot * kBlockSize + q] in the
// column of that slot, 2^15 times as large as it is; slot 0 is all zeros. Dense: bytes[(c / 4 * kBlockSize + q) * 4 + c
// % 4] is half of 128 + b, rounded down, where b is the byte of query q in the column c.
struct BlockView {
    const int16_t* weights;
    const uint16_t* slots;  // slot of each column
    const uint8_t* bytes;
    const float* factors;  // of the dense queries, kBlockSize
};

// Rows as they are compared with blocks. The weights of sparse rows are 2^15 times as large as they are. A dense row is
// its bytes times its factor / 2^7.
struct QuantizedView {
    const int64_t* indptr;  // n_rows + 1
    const int32_t* columns;
    const int16_t* weights;
    const int8_t* bytes;     // null if the rows are sparse
    const float* factors;    // n_rows
    const int32_t* offsets;  // n_rows: 255 times the sum of the bytes
    size_t width;            // bytes per dense row, a multiple of 4, at most kMostWidth
};

// More columns might leave the range of sums.
constexpr size_t kMostWidth = 32768;

// Scores the rows `rows[0 … count - 1]` against the block, from `*next` on. A score is about 2^14 times the inner
// product: sparse, the sum of (a b) >> 16 over the columns; dense, an integer product of bytes, times both factors. For
// each row that scores more than thresholds[q] with any query q, its place in `rows` goes to `reached`, the set of
// those queries to `above`, and all kBlockSize scores to `scores`. Returns how many such rows there are, at most
// `most`; `*next` is then where to go on.
size_t rows_above(const BlockView& block, const QuantizedView& given, const int32_t* rows, size_t count,
                  const int16_t* thresholds, size_t most, int32_t* reached, uint32_t* above, int16_t* scores,
                  size_t* next);

}  // namespace sthash::graph
