#include "graph/rare_postings.hpp"

#include <algorithm>
#include <cmath>

namespace sthash::graph {

RarePostings rare_postings(const QuantizedRows& rows, const std::vector<int64_t>& frequency, size_t most) {
    RarePostings rare;
    rare.first = static_cast<size_t>(std::partition_point(frequency.begin(), frequency.end(),
                                                          [&](int64_t f) { return f > static_cast<int64_t>(most); }) -
                                     frequency.begin());
    if (rare.first >= rows.n_columns) return rare;
    rare.starts.assign(rows.n_columns - rare.first + 1, 0);
    for (size_t term = rare.first; term < rows.n_columns; ++term)
        rare.starts[term - rare.first + 1] = rare.starts[term - rare.first] + frequency[term];
    rare.postings.resize(rare.starts.back());
    std::vector<int64_t> next(rare.starts.begin(), rare.starts.end() - 1);
    for (size_t i = 0; i < rows.n(); ++i)
        for (int64_t at = rows.indptr[i]; at < rows.indptr[i + 1]; ++at)
            if (static_cast<size_t>(rows.columns[at]) >= rare.first)
                rare.postings[next[rows.columns[at] - rare.first]++] = {std::abs(static_cast<float>(rows.weights[at])),
                                                                        static_cast<int32_t>(i)};
    return rare;
}

}  // namespace sthash::graph
