// The k best of many scored rows: by score, the higher first, ties by row, the lower first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "simd.hpp"

#define STHASH_KERNELS "graph/kernels.inc"
#include "each_path.inc"

namespace sthash {

inline long rows_reaching(const float* scores, const float* penalty, const float* spread, float factor, float threshold,
                          long first, long last, int* reached) {
    STHASH_DISPATCH(rows_reaching(scores, penalty, spread, factor, threshold, first, last, reached))
}

inline long block_maxima(const float* scores, const float* penalty, const float* spread, float factor, long n,
                         long block, float* maxima) {
    STHASH_DISPATCH(block_maxima(scores, penalty, spread, factor, n, block, maxima))
}

struct Candidate {
    float score;
    int32_t row;
};

inline bool better(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
}

// n lists of k neighbours; -1 where a row has fewer.
struct NeighbourLists {
    NeighbourLists(size_t n, size_t k) : k(k), rows(n * k, -1), scores(n * k, 0.0f) {}

    void write(size_t row, std::vector<Candidate>& candidates) {
        const size_t count = std::min(k, candidates.size());
        std::partial_sort(candidates.begin(), candidates.begin() + count, candidates.end(), better);
        for (size_t place = 0; place < count; ++place) {
            rows[row * k + place] = candidates[place].row;
            scores[row * k + place] = candidates[place].score;
        }
    }

    size_t k;
    std::vector<int32_t> rows;
    std::vector<float> scores;
};

// The k-th largest of some scores; minus infinity if there are fewer.
inline float kth_largest(std::vector<float>& scores, size_t k) {
    if (scores.size() < k) return -std::numeric_limits<float>::infinity();
    std::nth_element(scores.begin(), scores.begin() + (k - 1), scores.end(), std::greater<>());
    return scores[k - 1];
}

// Scores of a query against all rows: scores[j] - penalty[j], known only up to factor * spread[j] each way.
// The query itself stands at minus infinity.
struct RoughScores {
    const float* scores;
    const float* penalty;
    const float* spread;
    float factor;
    bool one_sided;  // the true score is never below the rough one
    float slack;     // what rounding may add
    size_t n;
};

struct Gathering {
    std::vector<float> certain;
    std::vector<int32_t> reached;
    std::vector<Candidate> candidates;
};

// Leaves in `own.candidates` every row but `self` that may be among the k best, with its rough score.
//
// The k-th largest of the blocks' maxima is at most the k-th largest score, and close to it where there are
// many blocks; so only a few scores have to be looked at one by one.
inline void gather_candidates(const RoughScores& rough, size_t self, size_t k, Gathering& own) {
    const auto n = static_cast<long>(rough.n);
    const float* const below_spread = rough.one_sided ? nullptr : rough.spread;
    own.reached.resize(rough.n);
    own.certain.resize(rough.n);
    // Blocks as large as leave twice as many of them as rows are wanted.
    const long block = n / 64 < 2 * static_cast<long>(k) ? 16 : 64;
    own.certain.resize(
        block_maxima(rough.scores, rough.penalty, below_spread, -rough.factor, n, block, own.certain.data()));
    const float first_guess = kth_largest(own.certain, k);
    long found =
        rows_reaching(rough.scores, rough.penalty, below_spread, -rough.factor, first_guess, 0, n, own.reached.data());
    own.certain.clear();
    for (long at = 0; at < found; ++at) {
        const int32_t j = own.reached[at];
        own.certain.push_back(rough.scores[j] - rough.penalty[j] -
                              (below_spread != nullptr ? rough.factor * below_spread[j] : 0.0f));
    }
    found = rows_reaching(rough.scores, rough.penalty, rough.spread, rough.factor,
                          kth_largest(own.certain, k) - rough.slack, 0, n, own.reached.data());
    own.candidates.clear();
    for (long at = 0; at < found; ++at) {
        const int32_t j = own.reached[at];
        if (static_cast<size_t>(j) != self) own.candidates.push_back({rough.scores[j] - rough.penalty[j], j});
    }
}

}  // namespace sthash
