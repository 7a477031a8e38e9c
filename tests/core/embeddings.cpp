// Embeddings: the codes of the additive quantizer, and the search in cells.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cells/kernels.hpp"
#include "cells/search.hpp"
#include "check.hpp"
#include "quantizer/codewords.hpp"
#include "quantizer/kernels.hpp"

using namespace sthash;
using namespace sthash::test;

namespace {

// Small whole numbers, so that all sums are exact in any order.
std::vector<float> random_numbers(size_t count, size_t most) {
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(draw(2 * most + 1)) - static_cast<float>(most);
    return numbers;
}

// products[i * width + j] of row i of `left` and column j of `right`.
std::vector<float> product(const std::vector<float>& left, const std::vector<float>& right, size_t depth,
                           size_t width) {
    const size_t count = depth == 0 ? 0 : left.size() / depth;
    std::vector<float> products(count * width);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < width; ++j)
            for (size_t at = 0; at < depth; ++at)
                products[i * width + j] += left[i * depth + at] * right[at * width + j];
    return products;
}

void check_products(size_t count, size_t depth, size_t width) {
    const std::vector<float> rows = random_numbers(count * depth, 9), weights = random_numbers(depth * width, 9);
    std::vector<float> products(count * width, -1.0f);
    quantizer::multiply_rows(rows.data(), count, depth, weights.data(), width, products.data());
    check(products == product(rows, weights, depth, width), "products of rows");
}

// Codes are chosen by rounded products, so a better choice may be there if it is hardly better.
void check_codes(size_t books, size_t bits, size_t beam, int threads) {
    const size_t columns = 37, n = 150, words = books * quantizer::kWords;
    const auto small = [](size_t count, float scale) {
        std::vector<float> numbers = random_numbers(count, 1000);
        for (float& number : numbers) number *= scale / 1000.0f;
        return numbers;
    };
    const std::vector<float> vectors = small(n * columns, 0.3f), codewords = small(words * columns, 0.2f),
                             signs = small(bits * columns, 0.08f);
    const quantizer::Codewords chooser(codewords.data(), books, signs.data(), bits, columns, 2.0f, 0.0f);
    check(chooser.bytes() == books + bits / 8 && chooser.columns() == columns, "shape of codes");
    std::vector<uint8_t> codes(n * chooser.bytes());
    std::vector<float> squares(n);
    StopFlag stop{false};
    chooser.choose(vectors.data(), n, beam, {codes.data(), squares.data()}, threads, stop);
    for (size_t row = 0; row < n; ++row) {
        const float* x = vectors.data() + row * columns;
        const uint8_t* code = codes.data() + row * chooser.bytes();
        // |x - h|² of the sum h that the code stands for, with a sign turned.
        const auto loss = [&](size_t flipped, float& square) {
            float lost = square = 0;
            for (size_t c = 0; c < columns; ++c) {
                float h = 0;
                for (size_t book = 0; book < books; ++book)
                    h += codewords[(book * quantizer::kWords + code[book]) * columns + c];
                for (size_t bit = 0; bit < bits; ++bit) {
                    const bool on = (code[books + bit / 8] >> (bit % 8) & 1) != 0;
                    h += on != (bit == flipped) ? signs[bit * columns + c] : -signs[bit * columns + c];
                }
                lost += (x[c] - h) * (x[c] - h);
                square += h * h;
            }
            return lost;
        };
        float square, other;
        const float own = loss(bits, square), little = 0.02f;
        check(std::abs(squares[row] - square) < 0.002f, "lengths of sums");
        for (size_t bit = 0; bit < bits; ++bit) check(loss(bit, other) > own - little, "a better sign for a code");
        if (books != 2 || bits != 0 || beam != quantizer::kWords) continue;
        // All sums are looked at then.
        float best = std::numeric_limits<float>::infinity();
        for (size_t a = 0; a < quantizer::kWords; ++a)
            for (size_t b = quantizer::kWords; b < words; ++b) {
                float lost = 0;
                for (size_t c = 0; c < columns; ++c) {
                    const float left = x[c] - codewords[a * columns + c] - codewords[b * columns + c];
                    lost += left * left;
                }
                best = std::min(best, lost);
            }
        check(own < best + little, "the best sum of two codewords");
    }
}

void check_scan(size_t bytes, size_t count) {
    const size_t places = cells::kBlock, size = places * (bytes + 2);
    std::vector<uint8_t> blocks(count * size), low(32 * bytes), high(32 * bytes);
    for (uint8_t& value : blocks) value = static_cast<uint8_t>(draw(256));
    for (auto* table : {&low, &high})
        for (size_t at = 0; at < table->size(); ++at)
            (*table)[at] = at % 32 < 16 ? static_cast<uint8_t>(draw(cells::kMostValue + 1)) : (*table)[at - 16];
    const cells::Scales scales{{0.5f, 0.25f}, {-2.0f, 0.125f}};
    std::vector<float> estimates(count * places);
    for (size_t i = 0; i < estimates.size(); ++i) {
        const uint8_t* const own = blocks.data() + i / places * size + i % places;
        int sum = 0;
        for (size_t j = 0; j < bytes; ++j)
            sum += low[32 * j + (own[places * j] & 15)] + high[32 * j + (own[places * j] >> 4)];
        const float factor = 0.5f + 0.25f * static_cast<float>(own[places * bytes]);
        const float shift = -2.0f + 0.125f * static_cast<float>(own[places * (bytes + 1)]);
        estimates[i] = 3.0f + 2.0f * shift + factor * (-4.0f + 0.5f * static_cast<float>(sum));
    }
    std::vector<float> ordered = estimates;
    std::sort(ordered.begin(), ordered.end());
    for (const float limit : {ordered.front(), ordered[ordered.size() / 2], ordered.back(),
                              std::nextafter(ordered.back(), std::numeric_limits<float>::infinity())}) {
        std::vector<cells::Found> found(count * places);
        const size_t hits = cells::scan(blocks.data(), count, bytes, {low.data(), high.data(), 0.5f, -4.0f}, scales,
                                        {3.0f, 2.0f}, limit, 100, found.data());
        size_t next = 0;
        for (size_t i = 0; i < estimates.size(); ++i) {
            if (estimates[i] < limit) continue;
            check(
                next < hits && found[next].score == estimates[i] && found[next].place == static_cast<int32_t>(100 + i),
                "estimates in a cell");
            ++next;
        }
        check(next == hits, "number of estimates in a cell");
    }
}

void check_dot(size_t count) {
    const std::vector<float> left = random_numbers(count, 9), right = random_numbers(count, 9);
    check(cells::dot(left.data(), right.data(), count) ==
              std::inner_product(left.begin(), left.end(), right.begin(), 0.0f),
          "product of two vectors");
}

void check_byte_products(size_t rows, size_t count) {
    std::vector<int16_t> query(count);
    std::vector<int8_t> bytes(rows * count);
    for (int16_t& value : query) value = static_cast<int16_t>(static_cast<int>(draw(60001)) - 30000);
    for (int8_t& value : bytes) value = static_cast<int8_t>(static_cast<int>(draw(255)) - 127);
    std::vector<int32_t> wanted(rows), sums(rows);
    for (size_t row = 0; row < rows; ++row)
        for (size_t i = 0; i < count; ++i) wanted[row] += query[i] * bytes[row * count + i];
    cells::products(query.data(), bytes.data(), rows, count, sums.data());
    check(sums == wanted, "products of bytes");
}

// With room for all candidates the vectors decide alone, among the rows of the cells that are looked at. Queries have
// only 1 and -1, so that nothing is lost when they are rounded.
void check_search(size_t n_cells, size_t probes, size_t k, int threads) {
    const size_t dimension = 37, bytes = 4, count = 40;
    std::vector<int8_t> centers(n_cells * dimension);
    std::vector<float> queries(count * dimension);
    for (int8_t& value : centers) value = static_cast<int8_t>(static_cast<int>(draw(255)) - 127);
    for (float& value : queries) value = draw(2) == 0 ? 1.0f : -1.0f;
    const std::vector<float> signs = random_numbers(dimension * 8 * bytes, 1);
    std::vector<int64_t> starts{0};
    std::vector<int32_t> ids, sizes;
    std::vector<float> lengths;
    size_t n_rows = 0;
    for (size_t cell = 0; cell < n_cells; ++cell) {
        sizes.push_back(static_cast<int32_t>(draw(70)));
        for (int32_t i = 0; i < sizes.back(); ++i) ids.push_back(static_cast<int32_t>(n_rows++));
        while (ids.size() % cells::kBlock != 0) ids.push_back(-1);
        starts.push_back(static_cast<int64_t>(ids.size() / cells::kBlock));
        lengths.insert(lengths.end(), {0.25f, 0.5f, 1.0f});
    }
    const std::vector<float> vectors = random_numbers(n_rows * dimension, 5);
    std::vector<uint8_t> blocks(ids.size() * (bytes + 2));
    for (uint8_t& value : blocks) value = static_cast<uint8_t>(draw(256));
    const float scales[] = {0, 1, 0, 1};
    std::vector<int64_t> found(count * k);
    std::vector<float> scores(count * k);
    StopFlag stop{false};
    const float all = std::numeric_limits<float>::infinity();
    cells::search({n_cells, dimension, bytes, n_rows, centers.data(), lengths.data(), signs.data(), starts.data(),
                   sizes.data(), blocks.data(), scales, ids.data(), vectors.data(), cells::Precision::float32, nullptr},
                  {count, k, probes, n_rows + k, all, queries.data()}, found.data(), scores.data(), threads, stop);
    for (size_t q = 0; q < count; ++q) {
        const auto query = queries.begin() + static_cast<ptrdiff_t>(q * dimension);
        const auto product = [&](auto other) {
            return std::inner_product(query, query + static_cast<ptrdiff_t>(dimension), other, 0.0f);
        };
        std::vector<std::pair<float, size_t>> cells, rows;
        for (size_t cell = 0; cell < n_cells; ++cell)
            cells.push_back({-product(centers.begin() + static_cast<ptrdiff_t>(cell * dimension)), cell});
        std::sort(cells.begin(), cells.end());
        cells.resize(std::min(probes, n_cells));
        for (const auto& chosen : cells)
            for (auto at = static_cast<size_t>(starts[chosen.second]) * cells::kBlock;
                 at < static_cast<size_t>(starts[chosen.second + 1]) * cells::kBlock; ++at)
                if (const int32_t id = ids[at]; id >= 0)
                    rows.push_back({-product(vectors.begin() + static_cast<ptrdiff_t>(id) * 37), id});
        std::sort(rows.begin(), rows.end());
        for (size_t rank = 0; rank < k; ++rank) {
            const bool there = rank < rows.size();
            const float score = there ? -rows[rank].first : -std::numeric_limits<float>::infinity();
            const int64_t id = there ? static_cast<int64_t>(rows[rank].second) : -1;
            check(found[q * k + rank] == id && scores[q * k + rank] == score, "search in cells");
        }
    }
}

}  // namespace

void test_embeddings() {
    for (const size_t width : {size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{70}, size_t{300}})
        for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{4}, size_t{9}})
            check_products(count, 7, width);
    check_codes(0, 8, 1, 1);
    check_codes(0, 40, 4, 2);
    check_codes(1, 0, 1, 1);
    check_codes(2, 0, quantizer::kWords, 2);
    check_codes(3, 24, 8, 3);
    check_codes(15, 72, 2, 2);
    for (const size_t bytes : {size_t{2}, size_t{4}, size_t{10}, size_t{128}})
        for (const size_t count : {size_t{1}, size_t{5}}) check_scan(bytes, count);
    for (const size_t count : {size_t{1}, size_t{31}, size_t{64}, size_t{131}}) check_byte_products(7, count);
    for (size_t count = 0; count < 100; ++count) check_dot(count);
    check_search(1, 1, 5, 1);
    check_search(9, 3, 10, 2);
    check_search(20, 20, 300, 3);
}
