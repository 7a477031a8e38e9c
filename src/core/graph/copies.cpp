#include "graph/copies.hpp"

#include <algorithm>
#include <numeric>

#include "dot.hpp"
#include "equal_rows.hpp"

namespace sthash::graph {

EqualRows find_equal_rows(const RowsView& rows, int threads, StopFlag& stop) {
    const size_t n = rows.n_rows;
    const std::vector<int64_t> first = first_equal_rows(rows, threads, stop);
    EqualRows result;
    result.group.resize(n);
    for (size_t i = 0; i < n; ++i) {
        if (first[i] == static_cast<int64_t>(i)) {
            result.group[i] = static_cast<int32_t>(result.n());
            result.first.push_back(static_cast<int32_t>(i));
        } else {
            result.group[i] = result.group[first[i]];
        }
    }
    result.starts.assign(result.n() + 1, 0);
    for (const int32_t group : result.group) ++result.starts[group + 1];
    std::partial_sum(result.starts.begin(), result.starts.end(), result.starts.begin());
    result.members.resize(n);
    std::vector<int32_t> next(result.starts.begin(), result.starts.end() - 1);
    for (size_t i = 0; i < n; ++i) result.members[next[result.group[i]]++] = static_cast<int32_t>(i);
    return result;
}

NeighborLists with_copies(const RowsView& rows, const EqualRows& equal, const NeighborLists& groups, int threads,
                          StopFlag& stop) {
    const size_t k = groups.k;
    NeighborLists lists(equal.group.size(), k);
    std::vector<std::vector<Candidate>> scratch(std::max(threads, 1));
    parallel_for(equal.n(), 64, threads, stop, [&](size_t begin, size_t end, int thread) {
        std::vector<Candidate>& candidates = scratch[thread];
        for (size_t g = begin; g < end; ++g) {
            candidates.clear();
            // No list has more than k rows of a group, and its own row is one of k + 1.
            const auto add = [&](size_t group, float score) {
                const auto first = equal.members.begin() + equal.starts[group];
                const size_t size = static_cast<size_t>(equal.starts[group + 1] - equal.starts[group]);
                std::for_each_n(first, std::min(size, k + 1), [&](int32_t row) { candidates.push_back({score, row}); });
            };
            for (size_t at = g * k; at < (g + 1) * k && groups.rows[at] >= 0; ++at) {
                if (candidates.size() > k && groups.scores[at] < candidates.back().score) break;
                add(static_cast<size_t>(groups.rows[at]), groups.scores[at]);
            }
            const SparseRow row = rows.row(equal.first[g]);
            const auto own = static_cast<float>(exact_dot(row.values, row.values, static_cast<size_t>(row.size)));
            if (own > 0) add(g, own);
            const size_t wanted = std::min(candidates.size(), k + 1);
            std::partial_sort(candidates.begin(), candidates.begin() + wanted, candidates.end(), better);
            for (int32_t m = equal.starts[g]; m < equal.starts[g + 1]; ++m) {
                const auto self = static_cast<size_t>(equal.members[m]);
                size_t to = self * k;
                for (size_t place = 0; place < wanted && to < (self + 1) * k; ++place) {
                    if (static_cast<size_t>(candidates[place].row) == self) continue;
                    lists.rows[to] = candidates[place].row;
                    lists.scores[to++] = candidates[place].score;
                }
            }
        }
    });
    return lists;
}

}  // namespace sthash::graph
