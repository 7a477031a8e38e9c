// The paper's way to answer a query: look into the Hamming ball around its code, and rank the documents found there by
// the cosine of their full vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "ranking/ball.hpp"
#include "rows.hpp"

namespace sthash::ranking {

// The k best documents of each query, best first. Where the ball holds fewer, `places` and `distances` are -1.
struct RankedBalls {
    RankedBalls(size_t queries, size_t k)
        : k(k),
          places(queries * k, -1),
          scores(queries * k),
          distances(queries * k, -1),
          radii(queries),
          candidates(queries) {}

    size_t k;
    std::vector<int64_t> places;      // queries × k, numbers of documents
    std::vector<float> scores;        // queries × k, cosines
    std::vector<int32_t> distances;   // queries × k, bits that differ
    std::vector<int32_t> radii;       // radius of each ball, in bits or in whole weights
    std::vector<int64_t> candidates;  // documents in each ball
};

// Gathers the ball around each query and ranks its documents by the inner product of their vectors with the query's;
// of equal scores the lower place comes first.
//   documents  codes of the documents
//   vectors    as many unit vectors
//   queries    codes and margins of the queries
//   rows       as many unit vectors
RankedBalls search_balls(const CodesView& documents, const RowsView& vectors, const BallQueries& queries,
                         const RowsView& rows, const BallOptions& options, size_t k, int threads, StopFlag& stop);

// Pairs of documents: left[i] with right[i]. The caller owns both arrays.
struct PairsView {
    const int64_t *left, *right;
    size_t count;
};

// The inner product of each pair of vectors.
std::vector<float> pair_scores(const RowsView& vectors, const PairsView& pairs, int threads, StopFlag& stop);

}  // namespace sthash::ranking
