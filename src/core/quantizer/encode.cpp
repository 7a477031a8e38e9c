#include "quantizer/encode.hpp"

#include <algorithm>

#include "quantizer/kernels.hpp"

namespace sthash::quantizer {

Scratch::Scratch(const Codewords& words) {
    const size_t beam = static_cast<size_t>(words.beam), books = static_cast<size_t>(words.books);
    const size_t bits = static_cast<size_t>(words.bits);
    for (int side = 0; side < 2; ++side) {
        sums[side].resize(beam * books * kWords);
        losses[side].resize(beam);
        paths[side].resize(beam * books);
    }
    candidates.resize(std::max(beam * kWords, bits));
    places.resize(beam);
    signs.resize(bits);
    gradient.resize(bits);
    targets.resize(bits);
    diagonal.resize(bits);
    for (size_t bit = 0; bit < bits; ++bit) diagonal[bit] = words.bit_gram[bit * bits + bit];
}

void encode(const Codewords& words, const Products& products, const Encoded& encoded, int threads, StopFlag& stop) {
    std::vector<Scratch> scratch(static_cast<size_t>(std::max(threads, 1)), Scratch(words));
    parallel_for(products.rows, 64, threads, stop, [&](size_t first, size_t last, int thread) {
        encode_rows(words, products, first, last, encoded, scratch[static_cast<size_t>(thread)]);
    });
}

}  // namespace sthash::quantizer
