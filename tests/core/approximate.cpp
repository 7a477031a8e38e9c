// What large corpora are learned with: nearly all nearest rows, and products of a graph with vectors.
#include "graph/approximate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "check.hpp"
#include "graph/block_kernels.hpp"
#include "spectral/kernels.hpp"

using namespace sthash;
using namespace sthash::test;

namespace {

void check_blocks(size_t n, bool dense) {
    const size_t columns = 24;
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> indices, rows;
    std::vector<int16_t> weights, block((columns + 1) * block_size), thresholds(block_size);
    std::vector<uint16_t> slots(columns);
    for (size_t i = 0; i < n; ++i) {
        for (size_t c = 0; c < columns; ++c)
            if (dense || draw(3) == 0) {
                indices.push_back(static_cast<int32_t>(c));
                weights.push_back(static_cast<int16_t>(draw(8000)));
            }
        indptr.push_back(static_cast<int64_t>(indices.size()));
        rows.push_back(static_cast<int32_t>(n - 1 - i));
    }
    for (size_t c = 0; c < columns; ++c) slots[c] = static_cast<uint16_t>(dense || draw(4) != 0 ? c + 1 : 0);
    for (size_t at = block_size; at < block.size(); ++at) block[at] = static_cast<int16_t>(draw(8000));
    for (int16_t& threshold : thresholds) threshold = static_cast<int16_t>(draw(dense ? 16000 : 4000));
    std::vector<int32_t> wanted;
    std::vector<uint32_t> wanted_above;
    std::vector<int16_t> wanted_scores;
    for (size_t at = 0; at < n; ++at) {
        const auto row = static_cast<size_t>(rows[at]);
        int16_t sums[block_size] = {};
        uint32_t above = 0;
        for (size_t q = 0; q < block_size; ++q) {
            for (auto entry = static_cast<size_t>(indptr[row]); entry < static_cast<size_t>(indptr[row + 1]); ++entry) {
                const size_t slot = slots[static_cast<size_t>(indices[entry])];
                sums[q] = static_cast<int16_t>(sums[q] + ((block[slot * block_size + q] * weights[entry]) >> 16));
            }
            if (sums[q] > thresholds[q]) above |= uint32_t{1} << q;
        }
        if (above == 0) continue;
        wanted.push_back(static_cast<int32_t>(at));
        wanted_above.push_back(above);
        wanted_scores.insert(wanted_scores.end(), sums, sums + block_size);
    }
    const BlockView queries{block.data(), dense ? nullptr : slots.data()};
    const QuantizedView given{indptr.data(), dense ? nullptr : indices.data(), weights.data(), dense ? columns : 0};
    for (const size_t most : {size_t{1}, size_t{7}, n + 1}) {
        std::vector<int32_t> reached;
        std::vector<uint32_t> above;
        std::vector<int16_t> scores;
        for (size_t next = 0; next < n;) {
            std::vector<int32_t> some(most);
            std::vector<uint32_t> some_above(most);
            std::vector<int16_t> some_scores(most * block_size);
            const size_t count = rows_above(queries, given, rows.data(), n, thresholds.data(), most, some.data(),
                                            some_above.data(), some_scores.data(), &next);
            reached.insert(reached.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(count));
            above.insert(above.end(), some_above.begin(), some_above.begin() + static_cast<ptrdiff_t>(count));
            scores.insert(scores.end(), some_scores.begin(),
                          some_scores.begin() + static_cast<ptrdiff_t>(count * block_size));
        }
        check(reached == wanted && above == wanted_above && scores == wanted_scores, "rows above thresholds");
    }
}

// Unit rows around some middles, so that there is something to be near to.
Rows grouped_rows(size_t n, size_t columns) {
    const Rows middles = random_rows(n / 20 + 1, columns, 20, false);
    Rows rows;
    for (size_t i = 0; i < n; ++i) {
        const SparseRow middle = middles.view().row(draw(middles.indptr.size() - 1));
        std::set<int32_t> own;
        for (long at = 0; at < middle.size; ++at)
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
        for (long at = 0; at < row.size; ++at)
            full[i * columns + static_cast<size_t>(row.indices[at])] = row.values[at];
    }
    StopFlag stop{false};
    const NeighborLists lists = approximate_neighbors(rows.view(), columns, {.k = k, .seed = 1}, 1, stop);
    const NeighborLists again = approximate_neighbors(rows.view(), columns, {.k = k, .seed = 1}, 3, stop);
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
            for (long entry = 0; entry < row.size; ++entry)
                sum += now[static_cast<size_t>(row.indices[entry]) * width + at] * row.values[entry];
            wanted[i * width + at] = sum * 0.5f + now[i * width + at] * -2.0f + next[i * width + at] * past;
        }
    const FilterStep step{rows.view(), now.data(), next.data(), static_cast<long>(width), 0.5f, -2.0f, past};
    filter_rows(step, 0, static_cast<long>(n / 2));
    filter_rows(step, static_cast<long>(n / 2), static_cast<long>(n));
    check(next == wanted, "products of a graph with vectors");
}

}  // namespace

void test_approximate() {
    for (const size_t n : {size_t{1}, size_t{50}, size_t{400}})
        for (const bool dense : {false, true}) check_blocks(n, dense);
    check_neighbors(40, 5);
    check_neighbors(600, 10);
    for (const size_t width : {size_t{16}, size_t{64}, size_t{80}})
        for (const float past : {0.0f, -0.25f}) check_filter(60, width, past);
}
