// Embeddings: the codes of the additive quantizer, and the search in cells.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "cells/index.hpp"
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

// A coder of whole numbers. Queries have only 1 and -1, so that nothing is lost when they are rounded.
struct SmallCoder {
    explicit SmallCoder(size_t n_cells)
        : centers(n_cells * kDimension), signs(random_numbers(kDimension * 8 * kBytes, 1)) {
        for (int8_t& value : centers) value = static_cast<int8_t>(static_cast<int>(draw(255)) - 127);
        for (size_t cell = 0; cell < n_cells; ++cell) lengths.insert(lengths.end(), {0.25f, 0.5f, 1.0f});
        coder = {n_cells,        kDimension,   kBytes, centers.data(),
                 lengths.data(), signs.data(), scales, cells::Precision::float32,
                 nullptr};
    }

    static constexpr size_t kDimension = 37, kBytes = 4;
    std::vector<int8_t> centers;
    std::vector<float> lengths, signs;
    float scales[4] = {0, 1, 0, 1};
    cells::Coder coder;
};

struct Held {
    size_t cell;
    std::vector<float> vector;
};
using Truth = std::map<int64_t, Held>;

// Rows in cells drawn at random, with codes that say nothing.
struct RandomRows {
    RandomRows(const cells::Coder& coder, size_t count)
        : cells(count), packed(count * coder.row_bytes()), vectors(random_numbers(count * coder.dimension, 5)) {
        for (int32_t& cell : cells) cell = static_cast<int32_t>(draw(coder.n_cells));
        for (uint8_t& value : packed) value = static_cast<uint8_t>(draw(256));
    }
    cells::NewRows view(const int64_t* ids) const {
        return {cells.size(), cells.data(), packed.data(), reinterpret_cast<const std::byte*>(vectors.data()),
                ids,          nullptr};
    }

    std::vector<int32_t> cells;
    std::vector<uint8_t> packed;
    std::vector<float> vectors;
};

void add_rows(cells::Index& index, const RandomRows& rows, const std::vector<int64_t>& ids, Truth& truth) {
    index.add(rows.view(ids.data()));
    for (size_t i = 0; i < ids.size(); ++i) {
        const auto first = rows.vectors.begin() + static_cast<ptrdiff_t>(i * SmallCoder::kDimension);
        truth[ids[i]] = {static_cast<size_t>(rows.cells[i]), {first, first + SmallCoder::kDimension}};
    }
}

// With room for all candidates the vectors decide alone, among the rows of the cells that are looked at.
void check_answers(const SmallCoder& small, const cells::Index& index, const Truth& truth, size_t probes, size_t k,
                   bool exact, const std::vector<int64_t>* allowed, int threads) {
    const size_t count = 20, dimension = SmallCoder::kDimension, n_cells = small.coder.n_cells;
    std::vector<float> queries(count * dimension);
    for (float& value : queries) value = draw(2) == 0 ? 1.0f : -1.0f;
    std::vector<int64_t> found(count * k);
    std::vector<float> scores(count * k);
    StopFlag stop{false};
    const float all = std::numeric_limits<float>::infinity();
    const auto [now, located] = index.locate({allowed ? allowed->data() : nullptr, allowed ? allowed->size() : 0});
    std::vector<uint32_t> slots;
    for (const int64_t slot : located)
        if (slot >= 0) slots.push_back(static_cast<uint32_t>(slot));
    std::sort(slots.begin(), slots.end());
    const cells::Request request{count,
                                 k,
                                 probes,
                                 truth.size() + k,
                                 all,
                                 queries.data(),
                                 exact ? cells::Request::Plan::exact : cells::Request::Plan::cheapest,
                                 false};
    const cells::Selection selection(*now, slots);
    cells::Search(*now, request, allowed ? &selection : nullptr).run(found.data(), scores.data(), threads, stop);
    for (size_t q = 0; q < count; ++q) {
        const auto query = queries.begin() + static_cast<ptrdiff_t>(q * dimension);
        const auto product = [&](auto other) {
            return std::inner_product(query, query + static_cast<ptrdiff_t>(dimension), other, 0.0f);
        };
        std::vector<std::pair<float, int64_t>> rows;
        for (const auto& [id, held] : truth)
            if (allowed == nullptr || std::count(allowed->begin(), allowed->end(), id) > 0)
                rows.push_back({-product(held.vector.begin()), id});
        std::sort(rows.begin(), rows.end());
        // With so many candidates, vectors cost no more than codes.
        for (size_t rank = 0; rank < k; ++rank) {
            const bool there = rank < rows.size();
            const float score = there ? -rows[rank].first : -all;
            check(found[q * k + rank] == (there ? rows[rank].second : -1) && scores[q * k + rank] == score,
                  "search among " + std::to_string(n_cells) + " cells");
        }
    }
}

// Where codes choose the candidates, there are as many answers as there should be, each with its own score.
void check_approximate(const cells::Index& index, const Truth& truth, size_t k, int threads) {
    const size_t dimension = SmallCoder::kDimension;
    std::vector<float> query(dimension, 1.0f), scores(k);
    std::vector<int64_t> found(k);
    StopFlag stop{false};
    const auto now = index.snapshot();
    const cells::Request request{
        1, k, 1, k, std::numeric_limits<float>::infinity(), query.data(), cells::Request::Plan::cells, false};
    cells::Search(*now, request, nullptr).run(found.data(), scores.data(), threads, stop);
    for (size_t i = 0; i < k; ++i) {
        check((found[i] >= 0) == (i < truth.size()), "number of answers");
        if (found[i] < 0) continue;
        const std::vector<float>& row = truth.at(found[i]).vector;
        check(scores[i] == std::accumulate(row.begin(), row.end(), 0.0f), "scores of answers");
        check(i == 0 || scores[i - 1] > scores[i] || (scores[i - 1] == scores[i] && found[i - 1] < found[i]),
              "order of answers");
    }
    check(std::set<int64_t>(found.begin(), found.end()).size() == std::min(k, truth.size() + 1), "different answers");
}

// Rows come and go, until all but a few of them are gone.
void check_changes(size_t n_cells, bool shuffled) {
    const SmallCoder small(n_cells);
    cells::Index index(small.coder);
    Truth truth;
    int64_t next = 0;
    for (const size_t count : {size_t{5}, size_t{0}, size_t{6000}, size_t{1}, size_t{300}}) {
        std::vector<int64_t> ids(count);
        for (int64_t& id : ids) id = next++;
        if (shuffled) std::reverse(ids.begin(), ids.end());
        add_rows(index, RandomRows(small.coder, count), ids, truth);
    }
    for (int turn = 0; turn < 5; ++turn) {
        check_answers(small, index, truth, 3, 7, turn % 2 == 0, nullptr, 1 + turn % 2);
        check_approximate(index, truth, 50, 1);
        std::vector<int64_t> gone;
        for (const auto& [id, held] : truth)
            if (draw(3) != 0) gone.push_back(id);
        check_answers(small, index, truth, 3, 7, false, &gone, 2);
        index.remove({gone.data(), gone.size()});
        for (const int64_t id : gone) truth.erase(id);
        const cells::Table table = cells::table_of(*index.snapshot());
        check(table.ids.size() == truth.size(), "rows that are left");
        size_t rank = 0;
        for (const auto& [id, held] : truth) {
            check(table.ids[rank] == id && static_cast<size_t>(table.cells[rank]) == held.cell, "rows that are left");
            ++rank;
        }
        const auto now = index.snapshot();
        check(now->dead <= std::max<uint64_t>(1024, (now->size + now->dead) / 4), "removed rows that take memory");
    }
    check_approximate(index, truth, truth.size() + 3, 2);
}

// A writer beside readers: what the thread sanitizer is for.
void check_writer_beside_readers() {
    const SmallCoder small(4);
    cells::Index index(small.coder);
    const RandomRows first(small.coder, 3000), more(small.coder, 64);
    index.add(first.view(nullptr));
    std::atomic<bool> done{false};
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 3; ++reader)
        readers.emplace_back([&, reader] {
            std::vector<float> query(SmallCoder::kDimension, 1.0f), scores(4000);
            std::vector<int64_t> found(4000);
            StopFlag stop{false};
            while (!done.load()) {
                const auto now = index.snapshot();
                const cells::Request request{1,
                                             4000,
                                             4,
                                             4000,
                                             std::numeric_limits<float>::infinity(),
                                             query.data(),
                                             reader == 0 ? cells::Request::Plan::exact : cells::Request::Plan::cheapest,
                                             false};
                cells::Search(*now, request, nullptr).run(found.data(), scores.data(), 1, stop);
                const auto there = std::count_if(found.begin(), found.end(), [](int64_t id) { return id >= 0; });
                check((there - 3000) % 64 == 0, "a search sees whole changes");
                check(index.locate({found.data(), 1}).second.size() == 1, "ids are located");
            }
        });
    for (int turn = 0; turn < 40; ++turn) {
        std::vector<int64_t> ids(64);
        for (size_t i = 0; i < 64; ++i) ids[i] = static_cast<int64_t>(1000000 - 64 * turn - static_cast<int>(i));
        index.add(more.view(ids.data()));
        if (turn % 4 != 0) index.remove({ids.data(), ids.size()});
    }
    done.store(true);
    for (std::thread& reader : readers) reader.join();
    check(index.snapshot()->size == 3000 + 10 * 64, "rows after all changes");
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
    check_changes(1, false);
    check_changes(9, true);
    check_changes(200, false);
    check_writer_beside_readers();
}
