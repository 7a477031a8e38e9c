// The rows of each rare term of sparse rows.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/quantized_rows.hpp"

namespace sthash::graph {

struct Posting {
    float weight;  // without its sign, in the unit of the quantized rows
    int32_t row;
};

struct RarePostings {
    size_t first = 0;  // rare terms are those from here on
    std::vector<int64_t>
        starts;  // the term first + t has the postings starts[t] … starts[t + 1] - 1; empty if none is rare
    std::vector<Posting> postings;
};

// The postings of the terms that at most `most` rows have. `frequency` says how many rows have a term, and descends.
RarePostings rare_postings(const QuantizedRows& rows, const std::vector<int64_t>& frequency, size_t most);

}  // namespace sthash::graph
