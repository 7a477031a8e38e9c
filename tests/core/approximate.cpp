// What large corpora are learned with: nearly all nearest rows, and products of a graph with vectors.
#include "graph/approximate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "check.hpp"
#include "graph/block_kernels.hpp"
#include "spectral/kernels.hpp"

using namespace sthash;
using namespace sthash::graph;
using namespace sthash::test;

namespace {

// The rows that score more than a threshold: their places, the queries for which they do, all scores.
struct Reached {
    std::vector<int32_t> places;
    std::vector<uint32_t> above;
    std::vector<int16_t> scores;
};

// All rows in one call, and in several that have room for few.
void check_rows_above(const BlockView& block, const QuantizedView& given, const std::vector<int32_t>& rows,
                      const std::vector<int16_t>& thresholds, const Reached& wanted) {
    const size_t n = rows.size();
    for (const size_t most : {size_t{4}, size_t{7}, n + 4}) {
        Reached all;
        for (size_t next = 0; next < n;) {
            std::vector<int32_t> places(most);
            std::vector<uint32_t> above(most);
            std::vector<int16_t> scores(most * kBlockSize);
            const auto count = static_cast<ptrdiff_t>(rows_above(block, given, rows.data(), n, thresholds.data(), most,
                                                                 places.data(), above.data(), scores.data(), &next));
            all.places.insert(all.places.end(), places.begin(), places.begin() + count);
            all.above.insert(all.above.end(), above.begin(), above.begin() + count);
            all.scores.insert(all.scores.end(), scores.begin(),
                              scores.begin() + count * static_cast<ptrdiff_t>(kBlockSize));
        }
        check(all.places == wanted.places && all.above == wanted.above && all.scores == wanted.scores,
              "rows above thresholds");
    }
}

void check_sparse_blocks(size_t n) {
    const size_t columns = 24;
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> indices, rows;
    std::vector<int16_t> weights, block((columns + 1) * kBlockSize), thresholds(kBlockSize);
    std::vector<uint16_t> slots(columns);
    for (size_t i = 0; i < n; ++i) {
        for (size_t c = 0; c < columns; ++c)
            if (draw(3) == 0) {
                indices.push_back(static_cast<int32_t>(c));
                weights.push_back(static_cast<int16_t>(draw(8000)));
            }
        indptr.push_back(static_cast<int64_t>(indices.size()));
        rows.push_back(static_cast<int32_t>(n - 1 - i));
    }
    for (size_t c = 0; c < columns; ++c) slots[c] = static_cast<uint16_t>(draw(4) != 0 ? c + 1 : 0);
    for (size_t at = kBlockSize; at < block.size(); ++at) block[at] = static_cast<int16_t>(draw(8000));
    for (int16_t& threshold : thresholds) threshold = static_cast<int16_t>(draw(4000));
    Reached wanted;
    for (size_t at = 0; at < n; ++at) {
        const auto row = static_cast<size_t>(rows[at]);
        int16_t sums[kBlockSize] = {};
        uint32_t above = 0;
        for (size_t q = 0; q < kBlockSize; ++q) {
            for (auto entry = static_cast<size_t>(indptr[row]); entry < static_cast<size_t>(indptr[row + 1]); ++entry) {
                const size_t slot = slots[static_cast<size_t>(indices[entry])];
                sums[q] = static_cast<int16_t>(sums[q] + ((block[slot * kBlockSize + q] * weights[entry]) >> 16));
            }
            if (sums[q] > thresholds[q]) above |= uint32_t{1} << q;
        }
        if (above == 0) continue;
        wanted.places.push_back(static_cast<int32_t>(at));
        wanted.above.push_back(above);
        wanted.scores.insert(wanted.scores.end(), sums, sums + kBlockSize);
    }
    check_rows_above({block.data(), slots.data(), nullptr, nullptr},
                     {indptr.data(), indices.data(), weights.data(), nullptr, nullptr, nullptr, 0}, rows, thresholds,
                     wanted);
}

void check_dense_blocks(size_t n) {
    const size_t width = 24;
    std::vector<int8_t> bytes(n * width);
    std::vector<uint8_t> block(width * kBlockSize);
    std::vector<float> factors(n), query_factors(kBlockSize);
    std::vector<int32_t> offsets(n), rows;
    std::vector<int16_t> thresholds(kBlockSize);
    for (int8_t& byte : bytes) byte = static_cast<int8_t>(static_cast<int>(draw(255)) - 127);
    for (uint8_t& byte : block) byte = static_cast<uint8_t>(draw(128));
    for (auto* some : {&factors, &query_factors})
        for (float& factor : *some) factor = 0.125f * static_cast<float>(1 + draw(2));
    for (int16_t& threshold : thresholds) threshold = static_cast<int16_t>(draw(8000));
    Reached wanted;
    for (size_t at = 0; at < n; ++at) {
        const size_t row = n - 1 - at;
        rows.push_back(static_cast<int32_t>(row));
        for (size_t c = 0; c < width; ++c) offsets[row] += 255 * bytes[row * width + c];
        int16_t scores[kBlockSize];
        uint32_t above = 0;
        for (size_t q = 0; q < kBlockSize; ++q) {
            int sum = 0;
            for (size_t c = 0; c < width; ++c)
                sum += block[(c / 4 * kBlockSize + q) * 4 + c % 4] * bytes[row * width + c];
            const float exact = static_cast<float>(4 * sum - offsets[row]) * factors[row] * query_factors[q];
            scores[q] = static_cast<int16_t>(std::clamp(static_cast<int>(exact), -32768, 32767));
            if (scores[q] > thresholds[q]) above |= uint32_t{1} << q;
        }
        if (above == 0) continue;
        wanted.places.push_back(static_cast<int32_t>(at));
        wanted.above.push_back(above);
        wanted.scores.insert(wanted.scores.end(), scores, scores + kBlockSize);
    }
    check_rows_above({nullptr, nullptr, block.data(), query_factors.data()},
                     {nullptr, nullptr, nullptr, bytes.data(), factors.data(), offsets.data(), width}, rows, thresholds,
                     wanted);
}

// Unit rows around some middles, so that there is something to be near to.
Rows grouped_rows(size_t n, size_t columns) {
    const Rows middles = random_rows(n / 20 + 1, columns, 20, false);
    Rows rows;
    for (size_t i = 0; i < n; ++i) {
        const SparseRow middle = middles.view().row(draw(middles.indptr.size() - 1));
        std::set<int32_t> own;
        for (ptrdiff_t at = 0; at < middle.size; ++at)
            if (draw(3) != 0) own.insert(middle.indices[at]);
        for (size_t more = draw(4); more > 0; --more) own.insert(static_cast<int32_t>(draw(columns)));
        for (const int32_t column : own) {
            rows.indices.push_back(column);
            rows.values.push_back(1 / std::sqrt(static_cast<float>(own.size())));
        }
        rows.indptr.push_back(static_cast<int64_t>(rows.indices.size()));
    }
    return rows;
}

void check_neighbors(size_t n, size_t k) {
    const size_t columns = 300;
    const Rows rows = grouped_rows(n, columns);
    std::vector<float> full(n * columns);
    for (size_t i = 0; i < n; ++i) {
        const SparseRow row = rows.view().row(i);
        for (ptrdiff_t at = 0; at < row.size; ++at)
            full[i * columns + static_cast<size_t>(row.indices[at])] = row.values[at];
    }
    StopFlag stop{false};
    Progress progress;
    const NeighborLists lists = approximate_neighbors(rows.view(), columns, {.k = k, .seed = 1}, 1, stop, progress);
    const NeighborLists again = approximate_neighbors(rows.view(), columns, {.k = k, .seed = 1}, 3, stop, progress);
    check(lists.rows == again.rows && lists.scores == again.scores, "approximate neighbors on many threads");
    double found = 0, best = 0;
    for (size_t i = 0; i < n; ++i) {
        std::vector<float> scores(n);
        for (size_t j = 0; j < n; ++j)
            for (size_t c = 0; c < columns; ++c) scores[j] += full[i * columns + c] * full[j * columns + c];
        scores[i] = 0;
        std::set<int32_t> seen;
        for (size_t place = i * k; place < (i + 1) * k && lists.rows[place] >= 0; ++place) {
            const int32_t row = lists.rows[place];
            check(seen.insert(row).second && row != static_cast<int32_t>(i) && lists.scores[place] > 0 &&
                      std::abs(lists.scores[place] - scores[static_cast<size_t>(row)]) < 1e-5f,
                  "scores of approximate neighbors");
            found += lists.scores[place];
        }
        std::sort(scores.rbegin(), scores.rend());
        for (size_t place = 0; place < std::min(k, n); ++place) best += scores[place];
    }
    check(found >= 0.99 * best - 1e-3, "approximate neighbors");
    // The same on every path.
    static std::vector<int32_t> first[2];
    std::vector<int32_t>& known = first[n > 100];
    if (active_path() == SimdPath::portable) known = lists.rows;
    check(lists.rows == known, "approximate neighbors on all paths");
}

void check_filter(size_t n, size_t width, float past) {
    const Rows rows = random_rows(n, n, std::min<size_t>(n, 9), true);
    std::vector<float> now(n * width), next(n * width);
    for (float& value : now) value = static_cast<float>(draw(17)) - 8;
    for (float& value : next) value = static_cast<float>(draw(17)) - 8;
    std::vector<float> wanted = next;
    for (size_t i = 0; i < n; ++i)
        for (size_t at = 0; at < width; ++at) {
            const SparseRow row = rows.view().row(i);
            float sum = 0;
            for (ptrdiff_t entry = 0; entry < row.size; ++entry)
                sum += now[static_cast<size_t>(row.indices[entry]) * width + at] * row.values[entry];
            wanted[i * width + at] = sum * 0.5f + now[i * width + at] * -2.0f + next[i * width + at] * past;
        }
    const spectral::FilterStep step{rows.view(), now.data(), next.data(), static_cast<ptrdiff_t>(width),
                                    0.5f,        -2.0f,      past};
    spectral::filter_rows(step, 0, static_cast<ptrdiff_t>(n / 2));
    spectral::filter_rows(step, static_cast<ptrdiff_t>(n / 2), static_cast<ptrdiff_t>(n));
    check(next == wanted, "products of a graph with vectors");
}

}  // namespace

void test_approximate() {
    for (const size_t n : {size_t{1}, size_t{50}, size_t{400}}) {
        check_sparse_blocks(n);
        check_dense_blocks(n);
    }
    check_neighbors(40, 5);
    check_neighbors(600, 10);
    for (const size_t width : {size_t{16}, size_t{64}, size_t{80}})
        for (const float past : {0.0f, -0.25f}) check_filter(60, width, past);
}
