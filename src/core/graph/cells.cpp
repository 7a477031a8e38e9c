#include "graph/cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "compiler.hpp"
#include "dot.hpp"

namespace sthash::graph {

namespace {

constexpr size_t kSamplePerCell = 32;
constexpr int kIterations = 2;
constexpr size_t kCentroidTerms = 64;  // the heaviest terms of a sparse centroid; the others hardly change a cosine

// The generator splitmix64.
class Random {
 public:
    explicit Random(uint64_t seed) : state_(seed) {}

    // A number from 0 to n - 1.
    uint64_t below(uint64_t n) { return wide_product(next(), n).high; }

 private:
    uint64_t next() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }

    uint64_t state_;
};

std::vector<int32_t> random_rows(size_t n, size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<int32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    for (size_t i = 0; i < count; ++i) std::swap(rows[i], rows[i + random.below(n - i)]);
    rows.resize(count);
    return rows;
}

// The `choices` nearest centroids of each row, best first; -1 where a row has nothing in common with any.
std::vector<int32_t> nearest_centroids(const QuantizedRows& rows, const QuantizedRows& centroids, size_t choices,
                                       int threads, StopFlag& stop) {
    std::vector<int32_t> nearest(rows.n() * choices, -1), all(centroids.n());
    std::iota(all.begin(), all.end(), 0);
    std::vector<QueryBlock> blocks(std::max(threads, 1));
    parallel_for(rows.n(), kBlockSize, threads, stop, [&](size_t begin, size_t end, int thread) {
        QueryBlock& block = blocks[thread];
        block.load(rows, begin, end - begin);
        int16_t thresholds[kBlockSize];
        std::fill_n(thresholds, kBlockSize, rows.dense() ? std::numeric_limits<int16_t>::min() : int16_t{0});
        block.search(centroids, false, all, choices, thresholds);
        for (size_t q = 0; q < end - begin; ++q) {
            size_t place = (begin + q) * choices;
            for (const uint64_t key : block.best(q, choices)) nearest[place++] = QueryBlock::row_of(key);
        }
    });
    return nearest;
}

struct Column {
    float weight;
    int32_t number;
};

// The heaviest columns of the direction of the sum of some sparse rows. `sum` is zero before and after.
std::vector<Column> sum_of_rows(const QuantizedRows& rows, const int32_t* members, size_t count,
                                std::vector<float>& sum) {
    std::vector<Column> columns;
    for (size_t m = 0; m < count; ++m)
        for (int64_t at = rows.indptr[members[m]]; at < rows.indptr[members[m] + 1]; ++at) {
            const int32_t column = rows.columns[at];
            if (sum[column] == 0.0f && rows.weights[at] != 0) columns.push_back({0.0f, column});
            sum[column] += rows.weights[at];
        }
    // A column may have come in twice if its sum was zero in between.
    double square = 0;
    for (Column& column : columns) {
        column.weight = std::exchange(sum[column.number], 0.0f);
        square += static_cast<double>(column.weight) * column.weight;
    }
    const float scale = square > 0 ? static_cast<float>(1 / std::sqrt(square)) : 0.0f;
    for (Column& column : columns) column.weight *= scale;
    if (columns.size() > kCentroidTerms) {
        std::nth_element(columns.begin(), columns.begin() + kCentroidTerms, columns.end(),
                         [](const Column& a, const Column& b) {
                             const float x = std::abs(a.weight), y = std::abs(b.weight);
                             return x != y ? x > y : a.number < b.number;
                         });
        columns.resize(kCentroidTerms);
    }
    return columns;
}

// The direction of the sum of some dense rows, in `sum`.
void sum_of_dense_rows(const QuantizedRows& rows, const int32_t* members, size_t count, std::vector<float>& sum) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (size_t m = 0; m < count; ++m) {
        const int8_t* const bytes = rows.bytes.data() + members[m] * rows.width;
        const float factor = rows.factors[members[m]];
        for (size_t c = 0; c < rows.n_columns; ++c) sum[c] += bytes[c] * factor;
    }
    const double square = exact_dot(sum.data(), sum.data(), sum.size());
    const float scale = square > 0 ? static_cast<float>(1 / std::sqrt(square)) : 0.0f;
    for (float& value : sum) value *= scale;
}

// The directions of the sums of the rows of each cell. A cell without rows keeps its centroid.
QuantizedRows next_centroids(const QuantizedRows& rows, const std::vector<int32_t>& cell_of,
                             const QuantizedRows& before, int threads, StopFlag& stop) {
    const size_t n_cells = before.n();
    std::vector<int32_t> starts(n_cells + 1, 0), members(rows.n());
    for (const int32_t cell : cell_of)
        if (cell >= 0) ++starts[cell + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<int32_t> next(starts.begin(), starts.end() - 1);
    for (size_t i = 0; i < rows.n(); ++i)
        if (cell_of[i] >= 0) members[next[cell_of[i]]++] = static_cast<int32_t>(i);
    QuantizedRows result;
    result.n_columns = rows.n_columns;
    if (rows.dense()) result = dense_rows(n_cells, rows.n_columns);
    std::vector<std::vector<Column>> columns(n_cells);
    std::vector<std::vector<float>> sums(std::max(threads, 1));
    parallel_for(n_cells, 4, threads, stop, [&](size_t begin, size_t end, int thread) {
        sums[thread].resize(rows.n_columns, 0.0f);
        for (size_t c = begin; c < end; ++c) {
            const int32_t* const own = members.data() + starts[c];
            const auto count = static_cast<size_t>(starts[c + 1] - starts[c]);
            if (!rows.dense()) {
                columns[c] = sum_of_rows(rows, own, count, sums[thread]);
            } else if (count == 0) {
                copy_dense_row(before, c, result, c);
            } else {
                sum_of_dense_rows(rows, own, count, sums[thread]);
                set_row(result, c, sums[thread].data());
            }
        }
    });
    if (rows.dense()) return result;
    result.indptr.push_back(0);
    for (size_t c = 0; c < n_cells; ++c) {
        if (columns[c].empty()) {
            add_sparse_row(before, c, result);
            continue;
        }
        for (const Column& column : columns[c]) {
            result.columns.push_back(column.number);
            result.weights.push_back(quantized(column.weight));
        }
        result.indptr.push_back(static_cast<int64_t>(result.columns.size()));
        ++result.n_rows;
    }
    return result;
}

Cells fill_cells(const std::vector<int32_t>& nearest, size_t n, const CellOptions& options, int threads,
                 StopFlag& stop) {
    const size_t choices = options.choices;
    std::vector<int32_t> sizes(options.n_cells, 0), cell(n);
    const auto largest = static_cast<int32_t>(options.largest);
    for (size_t i = 0; i < n; ++i) {
        int32_t own = -1;
        for (size_t c = 0; c < choices && own < 0 && nearest[i * choices + c] >= 0; ++c)
            if (sizes[nearest[i * choices + c]] < largest) own = nearest[i * choices + c];
        if (own < 0) {
            if (sizes.size() == options.n_cells || sizes.back() == largest) sizes.push_back(0);
            own = static_cast<int32_t>(sizes.size()) - 1;
        }
        ++sizes[own];
        cell[i] = own;
    }
    Cells cells;
    cells.choices = choices;
    cells.starts.assign(sizes.size() + 1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), cells.starts.begin() + 1);
    cells.order.resize(n);
    std::vector<int32_t> next(cells.starts.begin(), cells.starts.end() - 1);
    for (size_t i = 0; i < n; ++i) cells.order[next[cell[i]]++] = static_cast<int32_t>(i);
    cells.cell.resize(n);
    cells.nearest.resize(n * choices);
    parallel_for(sizes.size(), 8, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t c = begin; c < end; ++c) {
            // Rows whose next cells agree too are closest.
            const auto from = cells.order.begin() + cells.starts[c], to = cells.order.begin() + cells.starts[c + 1];
            std::sort(from, to, [&](int32_t a, int32_t b) {
                const int32_t *x = nearest.data() + a * choices, *y = nearest.data() + b * choices;
                const auto [p, q] = std::mismatch(x, x + choices, y);
                return p != x + choices ? *p < *q : a < b;
            });
            for (int32_t place = cells.starts[c]; place < cells.starts[c + 1]; ++place) {
                cells.cell[place] = static_cast<int32_t>(c);
                std::copy_n(nearest.begin() + cells.order[place] * choices, choices,
                            cells.nearest.begin() + place * choices);
            }
        }
    });
    return cells;
}

}  // namespace

Cells make_cells(const QuantizedRows& rows, const CellOptions& options, int threads, StopFlag& stop) {
    const size_t n = rows.n();
    const std::vector<int32_t> chosen = random_rows(n, std::min(n, options.n_cells * kSamplePerCell), options.seed);
    const QuantizedRows sample = some_rows(rows, chosen);
    std::vector<int32_t> first(options.n_cells);
    std::iota(first.begin(), first.end(), 0);
    QuantizedRows centroids = some_rows(sample, first);
    for (int round = 0; round < kIterations && !stop; ++round)
        centroids =
            next_centroids(sample, nearest_centroids(sample, centroids, 1, threads, stop), centroids, threads, stop);
    return fill_cells(nearest_centroids(rows, centroids, options.choices, threads, stop), n, options, threads, stop);
}

}  // namespace sthash::graph
