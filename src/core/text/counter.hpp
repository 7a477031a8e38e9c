// From words to term counts: the rows of a sparse matrix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace sthash {

// Compressed sparse rows, columns ascending in each.
struct CountRows {
    std::vector<int64_t> indptr;
    std::vector<int32_t> indices;
    std::vector<int32_t> counts;
};

// Text i has the words words[starts[i]:starts[i + 1]]; term_of says which term a word counts for (-1: none).
inline CountRows count_terms(const int64_t* starts, size_t n_texts, const int32_t* words, const int32_t* term_of,
                             size_t n_terms, int threads, StopFlag& stop) {
    constexpr size_t grain = 64;
    CountRows rows;
    rows.indptr.assign(n_texts + 1, 0);
    std::vector<CountRows> pieces((n_texts + grain - 1) / grain);
    std::vector<std::vector<int32_t>> scratch(std::max(threads, 1));
    parallel_for(n_texts, grain, threads, stop, [&](size_t begin, size_t end, int thread) {
        std::vector<int32_t>& count = scratch[thread];
        count.resize(n_terms, 0);
        CountRows& piece = pieces[begin / grain];
        for (size_t i = begin; i < end; ++i) {
            const size_t first = piece.indices.size();
            for (int64_t at = starts[i]; at < starts[i + 1]; ++at) {
                const int32_t term = term_of[words[at]];
                if (term >= 0 && count[term]++ == 0) piece.indices.push_back(term);
            }
            std::sort(piece.indices.begin() + first, piece.indices.end());
            for (size_t at = first; at < piece.indices.size(); ++at) {
                piece.counts.push_back(count[piece.indices[at]]);
                count[piece.indices[at]] = 0;
            }
            rows.indptr[i + 1] = static_cast<int64_t>(piece.indices.size() - first);
        }
    });
    for (size_t i = 0; i < n_texts; ++i) rows.indptr[i + 1] += rows.indptr[i];
    rows.indices.reserve(rows.indptr.back());
    rows.counts.reserve(rows.indptr.back());
    for (const CountRows& piece : pieces) {
        rows.indices.insert(rows.indices.end(), piece.indices.begin(), piece.indices.end());
        rows.counts.insert(rows.counts.end(), piece.counts.begin(), piece.counts.end());
    }
    return rows;
}

}  // namespace sthash
