// The k best of dense rows of scores, and the exact k nearest rows of a dense matrix, from inner products that a BLAS
// has already computed in single precision.
#pragma once

#include <cmath>
#include <vector>

#include "graph/neighbours.hpp"
#include "parallel.hpp"

namespace sthash {

struct DenseBlock {
    const float* rows;     // n × d, all rows
    float* products;       // inner products of the rows first … first + count - 1 with all n rows; scratch
    const float* penalty;  // n
    const float* norms;    // n
    float largest_norm;
    size_t n, d, first, count;
};

// The products only pick the candidates. Scores are computed anew in double precision, so that neither the
// BLAS nor the number of its threads can change a score or a tie.
inline NeighbourLists best_of_block(const DenseBlock& block, size_t k, int threads, StopFlag& stop) {
    constexpr float rounding = 2e-5f;
    NeighbourLists lists(block.count, k);
    std::vector<Gathering> scratch(std::max(threads, 1));
    parallel_for(block.count, 8, threads, stop, [&](size_t begin, size_t end, int thread) {
        Gathering& own = scratch[thread];
        for (size_t i = begin; i < end; ++i) {
            const size_t self = block.first + i;
            const float slack = rounding * block.norms[self] * block.largest_norm;
            float* products = block.products + i * block.n;
            products[self] = -std::numeric_limits<float>::infinity();
            gather_candidates({products, block.penalty, nullptr, 0.0f, true, slack, block.n}, self, k, own);
            const float* query = block.rows + self * block.d;
            for (Candidate& candidate : own.candidates) {
                const float* row = block.rows + static_cast<size_t>(candidate.row) * block.d;
                double sum = 0;
                for (size_t at = 0; at < block.d; ++at) sum += static_cast<double>(query[at]) * row[at];
                candidate.score = static_cast<float>(sum - block.penalty[candidate.row]);
            }
            lists.write(i, own.candidates);
        }
    });
    return lists;
}

// The k columns with the largest scores in each row of a matrix, `count` × n.
inline NeighbourLists best_columns(const float* scores, size_t count, size_t n, size_t k, int threads, StopFlag& stop) {
    NeighbourLists lists(count, k);
    const std::vector<float> no_penalty(n, 0.0f);
    std::vector<Gathering> scratch(std::max(threads, 1));
    parallel_for(count, 64, threads, stop, [&](size_t begin, size_t end, int thread) {
        Gathering& own = scratch[thread];
        for (size_t i = begin; i < end; ++i) {
            gather_candidates({scores + i * n, no_penalty.data(), nullptr, 0.0f, true, 0.0f, n}, n, k, own);
            lists.write(i, own.candidates);
        }
    });
    return lists;
}

}  // namespace sthash
