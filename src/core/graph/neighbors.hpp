// The k best of many scored rows: the higher score first; of equal scores the lower row first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sthash::graph {

struct Candidate {
    float score;
    int32_t row;
};

inline bool better(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
}

// n lists of k neighbors, each best first. Where a row has fewer, `rows` is -1 and `scores` is 0.
struct NeighborLists {
    NeighborLists(size_t n, size_t k) : k(k), rows(n * k, -1), scores(n * k, 0.0f) {}

    // Writes the list of one row: the k best of `candidates`, which are reordered.
    void write(size_t row, std::vector<Candidate>& candidates) {
        const size_t count = std::min(k, candidates.size());
        std::partial_sort(candidates.begin(), candidates.begin() + count, candidates.end(), better);
        for (size_t place = 0; place < count; ++place) {
            rows[row * k + place] = candidates[place].row;
            scores[row * k + place] = candidates[place].score;
        }
    }

    size_t k;
    std::vector<int32_t> rows;  // n × k
    std::vector<float> scores;  // n × k
};

// The k-th largest of some scores, which are reordered; minus infinity if there are fewer.
float kth_largest(std::vector<float>& scores, size_t k);

// Scores of a query against all n rows: scores[j] - penalty[j], known only up to factor * spread[j] each way.
// The query itself stands at minus infinity.
struct RoughScores {
    const float* scores;
    const float* penalty;
    const float* spread;  // may be null if `factor` is 0
    float factor;
    bool one_sided;  // the true score is never below the rough one
    float slack;     // what rounding may add
    size_t n;
};

// Memory of one thread, kept from query to query.
struct CandidateScratch {
    std::vector<float> certain;
    std::vector<int32_t> reached;
    std::vector<Candidate> candidates;
};

// Leaves in `own.candidates` every row but `self` that may be among the k best, with its rough score. `self` is n if
// the query is none of the rows.
void gather_candidates(const RoughScores& rough, size_t self, size_t k, CandidateScratch& own);

}  // namespace sthash::graph
