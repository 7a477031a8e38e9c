// Nearest rows, sparse and dense, and the loops over rough scores that find them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "check.hpp"
#include "graph/dense_neighbors.hpp"
#include "graph/kernels.hpp"
#include "graph/quantized_rows.hpp"
#include "graph/sparse_neighbors.hpp"

using namespace sthash;
using namespace sthash::graph;
using namespace sthash::test;

namespace {

// The lists that sorting all scores gives; scores[i * n + j] is that of row j for query i, which is row first + i.
void check_lists(const NeighborLists& lists, const std::vector<float>& scores, size_t n, size_t first, size_t k,
                 const char* what) {
    NeighborLists wanted(scores.size() / n, k);
    for (size_t i = 0; i < scores.size() / n; ++i) {
        std::vector<Candidate> candidates;
        for (size_t j = 0; j < n; ++j)
            if (j != first + i) candidates.push_back({scores[i * n + j], static_cast<int32_t>(j)});
        wanted.write(i, candidates);
    }
    check(lists.rows == wanted.rows && lists.scores == wanted.scores, what);
}

void check_sparse(size_t n, bool negative, bool euclidean, int threads) {
    const size_t columns = 120, k = 1 + draw(9);
    const Rows rows = random_rows(n, columns, 12, negative);
    std::vector<float> dense(n * columns), penalty(n), scores(n * n);
    for (size_t i = 0; i < n; ++i)
        for (auto at = static_cast<size_t>(rows.indptr[i]); at < static_cast<size_t>(rows.indptr[i + 1]); ++at) {
            dense[i * columns + static_cast<size_t>(rows.indices[at])] = rows.values[at];
            if (euclidean) penalty[i] += rows.values[at] * rows.values[at] / 2;
        }
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            for (size_t c = 0; c < columns; ++c) scores[i * n + j] += dense[i * columns + c] * dense[j * columns + c];
            scores[i * n + j] -= penalty[j];
        }
    StopFlag stop{false};
    const NeighborLists sparse = sparse_neighbors({rows.view(), columns, penalty.data(), 0.1}, k, threads, stop);
    check_lists(sparse, scores, n, 0, k, "sparse neighbors");

    const size_t first = n / 3, count = n - first;
    std::vector<float> norms(n), products(count * n);
    float largest = 0;
    for (size_t i = 0; i < n; ++i) {
        norms[i] = 100;  // more than any of them
        largest = std::max(largest, norms[i]);
    }
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < n; ++j) products[i * n + j] = scores[(first + i) * n + j] + penalty[j];
    const NeighborLists lists = dense_neighbors(
        {dense.data(), products.data(), penalty.data(), norms.data(), largest, n, columns, first, count}, k, threads,
        stop);
    check_lists(lists, {scores.begin() + static_cast<ptrdiff_t>(first * n), scores.end()}, n, first, k,
                "dense neighbors");
    check_lists(largest_in_rows({scores.data(), n, n}, k, threads, stop), scores, n, n, k, "largest in rows");
}

void check_rough_scores(ptrdiff_t n) {
    const auto size = static_cast<size_t>(n);
    std::vector<float> scores(size), penalty(size), spread(size);
    for (size_t i = 0; i < size; ++i) {
        scores[i] = static_cast<float>(draw(64)) / 8;
        penalty[i] = static_cast<float>(draw(64)) / 8;
        spread[i] = static_cast<float>(draw(64)) / 8;
    }
    for (const float* spreads : {static_cast<const float*>(nullptr), static_cast<const float*>(spread.data())})
        for (const float threshold : {-1.0f, 4.0f, 7.0f, 50.0f}) {
            const ScoreTerms terms{scores.data(), penalty.data(), spreads, 0.5f, n};
            const auto score = [&](size_t i) {
                return scores[i] - penalty[i] + (spreads != nullptr ? spread[i] * 0.5f : 0.0f);
            };
            std::vector<int32_t> reached(size), wanted;
            for (size_t i = 0; i < size; ++i)
                if (score(i) >= threshold) wanted.push_back(static_cast<int32_t>(i));
            reached.resize(static_cast<size_t>(rows_reaching(terms, threshold, reached.data())));
            check(reached == wanted, "rows that reach a score");
            for (const size_t block : {size_t{16}, size_t{64}}) {
                std::vector<float> maxima(size / block), largest(size / block, -std::numeric_limits<float>::infinity());
                for (size_t i = 0; i < largest.size() * block; ++i)
                    largest[i / block] = std::max(largest[i / block], score(i));
                const ptrdiff_t blocks = block_maxima(terms, static_cast<ptrdiff_t>(block), maxima.data());
                check(static_cast<size_t>(blocks) == maxima.size() && maxima == largest, "maxima of blocks");
            }
        }
}

// Scores of dense rows in bytes, against sums in plain integers.
void check_dense_block(size_t width, size_t count) {
    const size_t n = 45, first = 9, k = 7;
    std::vector<float> values(n * width);
    for (float& value : values) value = (static_cast<float>(draw(2001)) - 1000) / 1000;
    std::fill_n(values.begin(), width, 0.0f);
    std::vector<int32_t> order(n), proposed;
    for (size_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(i);
    // Of unit length, which keeps scores within their range.
    for (size_t i = 0; i < n; ++i) {
        double square = 0;
        for (size_t c = 0; c < width; ++c) square += values[i * width + c] * values[i * width + c];
        for (size_t c = 0; c < width && square > 0; ++c) values[i * width + c] /= static_cast<float>(std::sqrt(square));
        if (draw(8) != 0) proposed.push_back(static_cast<int32_t>(i));
    }
    std::vector<int64_t> bounds;
    for (size_t i = 0; i <= n; ++i) bounds.push_back(static_cast<int64_t>(i * width));
    std::vector<int32_t> columns(width);
    std::iota(columns.begin(), columns.end(), 0);
    const RowsView dense{bounds.data(), bounds.data() + 1, columns.data(), values.data(), n, width, true};
    const QuantizedRows rows = quantized_rows(dense, order, 2);
    QueryBlock block;
    block.load(rows, first, count);
    int16_t thresholds[kBlockSize];
    std::fill_n(thresholds, kBlockSize, std::numeric_limits<int16_t>::min());
    block.search(rows, true, proposed, k, thresholds);
    for (size_t q = 0; q < count; ++q) {
        std::vector<uint64_t> wanted;
        for (const int32_t row : proposed) {
            if (static_cast<size_t>(row) == first + q) continue;
            int32_t sum = 0;
            for (size_t c = 0; c < rows.width; ++c)
                sum += (4 * ((rows.bytes[(first + q) * rows.width + c] + 128) / 2) - 255) *
                       rows.bytes[row * rows.width + c];
            const float scaled = static_cast<float>(sum) * rows.factors[row] * (rows.factors[first + q] / 2);
            wanted.push_back(QueryBlock::key_of(static_cast<int16_t>(scaled), row));
            double cosine = 0;
            for (size_t c = 0; c < width; ++c) cosine += values[(first + q) * width + c] * values[row * width + c];
            check(std::abs(scaled / 16384 - cosine) < 0.03, "rough scores of dense rows");
        }
        std::sort(wanted.begin(), wanted.end(), std::greater<>());
        wanted.resize(std::min(k, wanted.size()));
        check(block.best(q, k) == wanted, "blocks of dense rows");
    }
}

}  // namespace

void test_graph() {
    for (const size_t width : {size_t{1}, size_t{4}, size_t{30}, size_t{257}})
        for (const size_t count : {size_t{1}, size_t{32}}) check_dense_block(width, count);
    for (const ptrdiff_t n : {0, 1, 15, 16, 63, 64, 65, 200, 1000}) check_rough_scores(n);
    for (const size_t n : {size_t{1}, size_t{5}, size_t{70}, size_t{150}})
        for (const bool negative : {false, true}) {
            check_sparse(n, negative, false, 1);
            check_sparse(n, negative, true, 3);
        }
}
