// Codewords whose sum stands for a vector: one of each book, and all sign vectors, each with a sign of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/quantized_rows.hpp"
#include "parallel.hpp"

namespace sthash::quantizer {

inline constexpr size_t kWords = 256;  // codewords per book: one byte chooses one
inline constexpr size_t kMostBooks = 64;

// Vectors to multiply rows with, in bytes: blocks of 32, as the queries of graph/block_kernels.hpp.
struct ByteBlocks {
    size_t count = 0;  // a multiple of 32
    std::vector<uint8_t> bytes;
    std::vector<float> factors;  // per vector: what a product of bytes is to be multiplied with to be in units
};

// Memory of one thread.
struct Scratch {
    Scratch(size_t books, size_t bits, size_t columns, size_t beam);
    graph::QuantizedRows rows;          // the tile
    std::vector<int16_t> products;      // of the tile with a book
    std::vector<int16_t> bit_products;  // of the tile with the sign vectors
    std::vector<int16_t> candidates, gradient, signs, gains;
    std::vector<int32_t> scores[2];  // of the sums that are kept, before and after a book
    std::vector<uint8_t> paths[2];   // their codewords
    std::vector<size_t> live;        // how many are kept
    std::vector<float> sum;
};

// Per row: the code, and the square of the length of its sum.
struct Chosen {
    uint8_t* codes;  // books + bits / 8 bytes
    float* squares;
};

// The choice is made in whole numbers, 16 bits each: inner products in a unit for the books, and in another one for the
// sign vectors.
class Codewords {
 public:
    // `words` are 256 × `books` rows of `columns` floats, `signs` are `bits` such rows; `bits` is a multiple of 8. Rows
    // that are longer than `longest` may get a sum that is not the nearest. A sign is flipped if this gains more than
    // four times `least_gain` of the square of a sign vector, on average: smaller gains take long and change little.
    Codewords(const float* words, size_t books, const float* signs, size_t bits, size_t columns, float longest,
              float least_gain);

    size_t bytes() const { return books_ + bits_ / 8; }
    size_t columns() const { return columns_; }

    // Goes through the books and keeps the `beam` best sums; of equal ones the first counts. For what is left, signs
    // are chosen one after the other; then single ones are flipped, always the best, until none helps much.
    void choose(const float* rows, size_t n, size_t beam, const Chosen& chosen, int threads, StopFlag& stop) const;

 private:
    void choose_tile(const float* rows, size_t n, size_t beam, const Chosen& chosen, Scratch& scratch) const;

    size_t books_, bits_, columns_;
    float sign_unit_ = 1;
    int16_t least_gain_ = 0;
    std::vector<float> words_;
    ByteBlocks word_blocks_, sign_blocks_;
    std::vector<int16_t> halves_;  // per codeword c: -c · c / 2
    std::vector<int16_t> grams_;   // per pair of books i < j, at j (j - 1) / 2 + i: -products, a row per word of i
    std::vector<int16_t> cross_;   // per codeword: -products with the sign vectors
    std::vector<int16_t> gram_;    // products of sign vectors, rows as long as their blocks
    std::vector<int16_t> diagonal_;
};

}  // namespace sthash::quantizer
