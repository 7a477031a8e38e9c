#include "graph/ranked_rows.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sthash::graph {

// Terms of equal frequency go by column, so that their order is reproducible.
RankedRows::RankedRows(const RowsView& matrix, size_t n_columns, const std::vector<int32_t>& chosen) {
    std::vector<int64_t> by_column(n_columns, 0);
    indptr.reserve(chosen.size() + 1);
    indptr.push_back(0);
    for (const int32_t i : chosen) {
        const SparseRow row = matrix.row(i);
        for (ptrdiff_t at = 0; at < row.size; ++at) ++by_column[row.indices[at]];
        indptr.push_back(indptr.back() + row.size);
    }
    std::vector<int32_t> order(n_columns);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return by_column[a] > by_column[b]; });
    std::vector<int32_t> rank(n_columns);
    frequency.resize(n_columns);
    for (size_t place = 0; place < order.size(); ++place) {
        rank[order[place]] = static_cast<int32_t>(place);
        frequency[place] = by_column[order[place]];
    }
    terms.resize(indptr.back());
    weights.resize(indptr.back());
    std::vector<std::pair<int32_t, float>> entries;
    int64_t to = 0;
    for (const int32_t i : chosen) {
        const SparseRow row = matrix.row(i);
        entries.clear();
        for (ptrdiff_t at = 0; at < row.size; ++at) entries.emplace_back(rank[row.indices[at]], row.values[at]);
        std::sort(entries.begin(), entries.end());
        for (const auto& [term, weight] : entries) {
            terms[to] = term;
            weights[to++] = weight;
        }
    }
}

}  // namespace sthash::graph
