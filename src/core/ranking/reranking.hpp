// Re-ranking: the first hits of a search are ranked once more by what their neighbors say.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "ranking/ranking.hpp"

namespace sthash::ranking {

// Parameters of the re-ranking. The first `seeds` hits of a query are its seeds; s is the score of a hit, and s₀ that
// of the first one.
//   neighbors           how many of the seeds, the nearest by cosine, are the neighbors of a hit
//   smoothing           a: s becomes t = (1 - a) s + a y, where y is the mean score of the neighbors, weighted by
//                       their cosines
//   feedback_documents  how many of the first hits give feedback
//   feedback            c: t becomes (1 - c) t + c s₀ r / R, where r is the mean cosine with these first hits, without
//                       the hit itself, weighted by their scores; R is the largest r of a seed
// A hit without neighbors keeps its score.
struct Reranking {
    size_t seeds, neighbors, feedback_documents;
    double smoothing, feedback;
};

// The hits of `count` queries, `width` for each: places of vectors by falling score. A place of -1 ends a row. The
// caller owns the arrays.
struct HitsView {
    const int64_t* places;
    const float* scores;
    size_t count, width;
};

struct RerankedHits {
    std::vector<int64_t> places;  // count × k, by falling score, then by place; -1 ends a row
    std::vector<float> scores;    // 0 where a place is -1
};

// Ranks hits once more, and gives the k best of each query. The vectors are sparse, and have unit length.
RerankedHits rerank(const RowsView& vectors, const HitsView& hits, const Reranking& how, size_t k, int threads,
                    StopFlag& stop);

}  // namespace sthash::ranking
