#include "graph/dense_neighbors.hpp"

#include <limits>
#include <vector>

#include "dot.hpp"

namespace sthash::graph {

// The products only pick the candidates. Scores are computed anew in double precision, so that neither the BLAS
// nor the number of its threads can change a score or a tie.
NeighborLists dense_neighbors(const DenseBlock& block, size_t k, int threads, StopFlag& stop) {
    constexpr float kRounding = 2e-5f;
    NeighborLists lists(block.count, k);
    std::vector<CandidateScratch> scratch(std::max(threads, 1));
    parallel_for(block.count, 8, threads, stop, [&](size_t begin, size_t end, int thread) {
        CandidateScratch& own = scratch[thread];
        for (size_t i = begin; i < end; ++i) {
            const size_t self = block.first + i;
            const float slack = kRounding * block.norms[self] * block.largest_norm;
            float* products = block.products + i * block.n;
            products[self] = -std::numeric_limits<float>::infinity();
            gather_candidates({products, block.penalty, nullptr, 0.0f, true, slack, block.n}, self, k, own);
            const float* query = block.rows + self * block.d;
            for (Candidate& candidate : own.candidates) {
                const float* row = block.rows + static_cast<size_t>(candidate.row) * block.d;
                const double product = exact_dot(query, row, block.d);
                candidate.score = static_cast<float>(product - block.penalty[candidate.row]);
            }
            lists.write(i, own.candidates);
        }
    });
    return lists;
}

NeighborLists largest_in_rows(const ScoreMatrix& matrix, size_t k, int threads, StopFlag& stop) {
    const size_t n = matrix.n;
    NeighborLists lists(matrix.count, k);
    const std::vector<float> no_penalty(n, 0.0f);
    std::vector<CandidateScratch> scratch(std::max(threads, 1));
    parallel_for(matrix.count, 64, threads, stop, [&](size_t begin, size_t end, int thread) {
        CandidateScratch& own = scratch[thread];
        for (size_t i = begin; i < end; ++i) {
            gather_candidates({matrix.scores + i * n, no_penalty.data(), nullptr, 0.0f, true, 0.0f, n}, n, k, own);
            lists.write(i, own.candidates);
        }
    });
    return lists;
}

}  // namespace sthash::graph
