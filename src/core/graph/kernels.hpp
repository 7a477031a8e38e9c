// Inner loops of the search for neighbors: over the rough scores of one query against all rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::graph {

// The rough score of row j is scores[j] - penalty[j] + factor * spread[j]; without the last term if `spread` is null.
struct ScoreTerms {
    const float* scores;   // n
    const float* penalty;  // n
    const float* spread;   // n, or null
    float factor;
    ptrdiff_t n;
};

// Finds the rows whose score is at least `threshold`. Writes them, ascending, to `reached`, which has space for n, and
// returns how many there are.
ptrdiff_t rows_reaching(const ScoreTerms& terms, float threshold, int32_t* reached);

// Finds the largest score of each whole block of `block` rows, a multiple of 16. Writes it to `maxima`, which has space
// for n / block, and returns how many blocks there are.
ptrdiff_t block_maxima(const ScoreTerms& terms, ptrdiff_t block, float* maxima);

}  // namespace sthash::graph
