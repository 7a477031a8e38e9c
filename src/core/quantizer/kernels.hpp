// The inner loops of the quantizer, for the path that the machine runs.
#pragma once

#include "quantizer/codewords.hpp"

namespace sthash::quantizer {

// A book, and what its words cost: half of their squares, and their products with those of the books before it.
struct BookView {
    size_t book, books;     // its number, and how many there are
    const int16_t* halves;  // negative
    const int16_t* grams;   // negative, 256 × 256 per book before
};

struct SignView {
    size_t bits, stride;  // stride: bits, rounded up to a multiple of 64
    float unit;
    const int16_t* gram;
    int16_t least_gain;       // of a flip that is made, a quarter of it
    const int16_t* diagonal;  // of the gram; 32767 for what fills the last block
};

// products[row, i] = row · vector first + i in units, for `count` vectors, a multiple of 32, and the first `n` rows.
void multiply_bytes(const ByteBlocks& blocks, size_t first, size_t count, const graph::QuantizedView& rows, size_t n,
                    int16_t* products);

// Takes the sums that `scratch` keeps for the first `n` rows from one book to the next, `kept` of them at most.
void choose_words(const BookView& view, size_t n, size_t beam, size_t kept, Scratch& scratch);

// Returns h · h of the sum h of the codewords that a code chooses; `sum` has room for it.
float square_of_sum(const float* words, size_t books, size_t columns, const uint8_t* code, float* sum);

// Chooses the signs of a row, given its products with the sign vectors, and those of its codewords, negative. Returns
// what the sum s of the sign vectors adds to the square of the whole sum h + s: 2 h · s + s · s.
float choose_signs(const SignView& view, const int16_t* products, const std::vector<const int16_t*>& costs,
                   Scratch& scratch, uint8_t* code);

// products[i, :] = x_iᵀ weights, each sum in the order of the row. `weights` has `depth` rows of `width` floats.
void multiply_rows(const float* rows, size_t count, size_t depth, const float* weights, size_t width, float* products);

}  // namespace sthash::quantizer
