#include "quantizer/codewords.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quantizer/kernels.hpp"

namespace sthash::quantizer {

namespace {

constexpr size_t kTile = 64;  // rows that go through the books together, so that a book is read once for all

int16_t in_units(float value, float unit) {
    const float rounded = value / unit + (value < 0 ? -0.5f : 0.5f);
    return static_cast<int16_t>(rounded < 32767.0f ? (rounded > -32767.0f ? rounded : -32767.0f) : 32767.0f);
}

// Sign vectors, rounded up to a multiple of two blocks.
size_t stride_of(size_t bits) {
    return (bits + 2 * graph::kBlockSize - 1) / (2 * graph::kBlockSize) * (2 * graph::kBlockSize);
}

float square_of(const float* vector, size_t columns) {
    float square = 0;
    for (size_t c = 0; c < columns; ++c) square += vector[c] * vector[c];
    return square;
}

// The unit in which products of vectors with each other, and with rows that are not longer than `longest`, are shorts.
float unit_of(const float* vectors, size_t count, size_t columns, float longest) {
    float range = std::numeric_limits<float>::min();
    for (size_t i = 0; i < count; ++i) {
        const float square = square_of(vectors + i * columns, columns);
        range = std::max(range, square / 2 + longest * std::sqrt(square));
    }
    return range / 32767.0f;
}

// Vectors, and zeros up to `room`.
ByteBlocks byte_blocks(const float* vectors, size_t count, size_t room, size_t columns, float unit) {
    ByteBlocks blocks;
    blocks.count = room;
    graph::QuantizedRows rows = graph::dense_rows(blocks.count, columns);
    blocks.bytes.resize(blocks.count * rows.width);
    blocks.factors.resize(blocks.count);
    for (size_t i = 0; i < blocks.count; ++i) {
        if (i < count) graph::set_row(rows, i, vectors + i * columns);
        graph::set_query(rows, i, i % graph::kBlockSize,
                         blocks.bytes.data() + i / graph::kBlockSize * graph::kBlockSize * rows.width);
        // A product of bytes is twice as large, and 2^7 times for each of the factors.
        blocks.factors[i] = rows.factors[i] / unit / (2 * 128 * 128);
    }
    return blocks;
}

// products[i, j] of `left` with `right`, both rows, in units; rows of products are `stride` long.
void multiply_in_units(const float* left, size_t n_left, const float* right, size_t n_right, size_t columns, float unit,
                       int16_t* products, size_t stride) {
    std::vector<float> turned(columns * n_right), exact(n_left * n_right);
    for (size_t j = 0; j < n_right; ++j)
        for (size_t c = 0; c < columns; ++c) turned[c * n_right + j] = right[j * columns + c];
    multiply_rows(left, n_left, columns, turned.data(), n_right, exact.data());
    for (size_t i = 0; i < n_left; ++i)
        for (size_t j = 0; j < n_right; ++j) products[i * stride + j] = in_units(exact[i * n_right + j], unit);
}

void negate(std::vector<int16_t>& values) {
    for (int16_t& value : values) value = static_cast<int16_t>(-value);
}

}  // namespace

Scratch::Scratch(size_t books, size_t bits, size_t columns, size_t beam)
    : rows(graph::dense_rows(kTile, columns)),
      products(kTile * kWords),
      bit_products(kTile * stride_of(bits)),
      candidates(beam * kWords),
      gradient(stride_of(bits)),
      signs(stride_of(bits)),
      gains(stride_of(bits)),
      live(kTile),
      sum(columns) {
    for (int side = 0; side < 2; ++side) {
        scores[side].resize(kTile * beam);
        paths[side].resize(kTile * beam * books);
    }
}

Codewords::Codewords(const float* words, size_t books, const float* signs, size_t bits, size_t columns, float longest,
                     float least_gain)
    : books_(books), bits_(bits), columns_(columns), words_(words, words + books * kWords * columns) {
    const float unit = unit_of(words, books * kWords, columns, longest);
    word_blocks_ = byte_blocks(words, books * kWords, books * kWords, columns, unit);
    halves_.resize(books * kWords);
    for (size_t word = 0; word < halves_.size(); ++word)
        halves_[word] = in_units(square_of(words + word * columns, columns) / 2, unit);
    grams_.resize(books * (books - (books > 0)) / 2 * kWords * kWords);
    for (size_t j = 1; j < books; ++j)
        for (size_t i = 0; i < j; ++i)
            multiply_in_units(words + i * kWords * columns, kWords, words + j * kWords * columns, kWords, columns, unit,
                              grams_.data() + (j * (j - 1) / 2 + i) * kWords * kWords, kWords);
    sign_unit_ = unit_of(signs, bits, columns, longest);
    sign_blocks_ = byte_blocks(signs, bits, stride_of(bits), columns, sign_unit_);
    cross_.resize(books * kWords * sign_blocks_.count);
    gram_.resize(bits * sign_blocks_.count);
    multiply_in_units(words, books * kWords, signs, bits, columns, sign_unit_, cross_.data(), sign_blocks_.count);
    multiply_in_units(signs, bits, signs, bits, columns, sign_unit_, gram_.data(), sign_blocks_.count);
    diagonal_.assign(sign_blocks_.count, 32767);
    double squares = 0;
    for (size_t bit = 0; bit < bits; ++bit) squares += diagonal_[bit] = gram_[bit * (sign_blocks_.count + 1)];
    if (bits > 0) least_gain_ = static_cast<int16_t>(least_gain * squares / static_cast<double>(bits));
    for (std::vector<int16_t>* costs : {&halves_, &grams_, &cross_}) negate(*costs);
}

void Codewords::choose(const float* rows, size_t n, size_t beam, const Chosen& chosen, int threads,
                       StopFlag& stop) const {
    const size_t tiles = (n + kTile - 1) / kTile;
    std::vector<Scratch> scratch(static_cast<size_t>(std::max(threads, 1)), Scratch(books_, bits_, columns_, beam));
    parallel_for(tiles, 1, threads, stop, [&](size_t tile, size_t, int thread) {
        const size_t first = tile * kTile;
        choose_tile(rows + first * columns_, std::min(kTile, n - first), beam,
                    {chosen.codes + first * bytes(), chosen.squares + first}, scratch[static_cast<size_t>(thread)]);
    });
}

void Codewords::choose_tile(const float* rows, size_t n, size_t beam, const Chosen& chosen, Scratch& scratch) const {
    for (size_t row = 0; row < n; ++row) graph::set_row(scratch.rows, row, rows + row * columns_);
    const graph::QuantizedView view = scratch.rows.view();
    std::fill_n(scratch.live.begin(), n, size_t{1});
    std::fill(scratch.scores[0].begin(), scratch.scores[0].end(), 0);
    for (size_t book = 0; book < books_; ++book) {
        multiply_bytes(word_blocks_, book * kWords, kWords, view, n, scratch.products.data());
        const size_t kept = book + 1 == books_ ? 1 : beam;
        choose_words({book, books_, halves_.data() + book * kWords,
                      grams_.data() + book * (book - (book > 0)) / 2 * kWords * kWords},
                     n, beam, kept, scratch);
    }
    multiply_bytes(sign_blocks_, 0, sign_blocks_.count, view, n, scratch.bit_products.data());
    const SignView signs{bits_, sign_blocks_.count, sign_unit_, gram_.data(), least_gain_, diagonal_.data()};
    for (size_t row = 0; row < n; ++row) {
        uint8_t* code = chosen.codes + row * bytes();
        std::copy_n(scratch.paths[books_ % 2].data() + row * beam * books_, books_, code);
        chosen.squares[row] = square_of_sum(words_.data(), books_, columns_, code, scratch.sum.data());
        if (bits_ == 0) continue;
        std::vector<const int16_t*> costs(books_);
        for (size_t book = 0; book < books_; ++book)
            costs[book] = cross_.data() + (book * kWords + code[book]) * signs.stride;
        chosen.squares[row] +=
            choose_signs(signs, scratch.bit_products.data() + row * signs.stride, costs, scratch, code + books_);
    }
}

}  // namespace sthash::quantizer
