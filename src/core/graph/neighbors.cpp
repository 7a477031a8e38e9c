#include "graph/neighbors.hpp"

#include <functional>
#include <limits>

#include "graph/kernels.hpp"

namespace sthash::graph {

float kth_largest(std::vector<float>& scores, size_t k) {
    if (scores.size() < k) return -std::numeric_limits<float>::infinity();
    std::nth_element(scores.begin(), scores.begin() + (k - 1), scores.end(), std::greater<>());
    return scores[k - 1];
}

// The k-th largest of the blocks' maxima is at most the k-th largest score, and close to it where there are many
// blocks. So only a few scores have to be looked at one by one.
void gather_candidates(const RoughScores& rough, size_t self, size_t k, CandidateScratch& own) {
    const auto n = static_cast<ptrdiff_t>(rough.n);
    const float* const below_spread = rough.one_sided ? nullptr : rough.spread;
    const ScoreTerms least{rough.scores, rough.penalty, below_spread, -rough.factor, n};
    const ScoreTerms most{rough.scores, rough.penalty, rough.spread, rough.factor, n};
    own.reached.resize(rough.n);
    own.certain.resize(rough.n);
    // Blocks as large as leave twice as many of them as rows are wanted.
    const ptrdiff_t block = n / 64 < 2 * static_cast<ptrdiff_t>(k) ? 16 : 64;
    own.certain.resize(block_maxima(least, block, own.certain.data()));
    ptrdiff_t found = rows_reaching(least, kth_largest(own.certain, k), own.reached.data());
    own.certain.clear();
    for (ptrdiff_t at = 0; at < found; ++at) {
        const int32_t j = own.reached[at];
        own.certain.push_back(rough.scores[j] - rough.penalty[j] -
                              (below_spread != nullptr ? rough.factor * below_spread[j] : 0.0f));
    }
    found = rows_reaching(most, kth_largest(own.certain, k) - rough.slack, own.reached.data());
    own.candidates.clear();
    for (ptrdiff_t at = 0; at < found; ++at) {
        const int32_t j = own.reached[at];
        if (static_cast<size_t>(j) != self) own.candidates.push_back({rough.scores[j] - rough.penalty[j], j});
    }
}

}  // namespace sthash::graph
