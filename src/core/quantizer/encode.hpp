// Codes of an additive quantizer: which sum of codewords stands for a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace sthash::quantizer {

inline constexpr int kWords = 256;  // codewords per book: one byte chooses one
inline constexpr int kMostBooks = 64;

// What is known of the codewords before any vector is seen. A vector is stood for by one codeword of each book, and by
// all sign vectors, each with its own sign.
struct Codewords {
    int books;
    int bits;                 // a multiple of 8
    int beam;                 // partial sums that are kept while the books are gone through
    const float* book_gram;   // (256 books)², products of codewords
    const float* cross_gram;  // 256 books × bits, products of codewords and sign vectors
    const float* bit_gram;    // bits², products of sign vectors
};

// Vectors, known by their products with the codewords and the sign vectors.
struct Products {
    size_t rows;
    const float* books;  // 256 books per row
    const float* bits;   // bits per row
};

// Per row: the code, and what its sum h has in common with the vector x.
struct Encoded {
    uint8_t* codes;  // books + bits / 8 bytes
    float* dots;     // x · h
    float* squares;  // h · h
};

// Memory of one thread.
struct Scratch {
    explicit Scratch(const Codewords& words);
    std::vector<float> sums[2];  // per kept partial sum: the products that are left
    std::vector<float> losses[2], candidates;
    std::vector<uint8_t> paths[2];
    std::vector<int32_t> places;
    std::vector<float> signs, gradient, diagonal, targets;
};

// Finds a near sum: a beam search through the books, then flips of single signs, always the best one, until none helps.
void encode(const Codewords& words, const Products& products, const Encoded& encoded, int threads, StopFlag& stop);

}  // namespace sthash::quantizer
