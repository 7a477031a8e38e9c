// The paper's way to answer a query: look into the Hamming ball around its code, and rank the documents found there by
// the cosine of their full vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "collection/ball.hpp"
#include "csr.hpp"
#include "parallel.hpp"

namespace sthash {

// Unit vectors of documents, packed one after the other. Document i has content[starts[i]:ends[i]]: the values of a
// dense vector; of a sparse one the columns, ascending, then as many values. Values are floats, kept as their bits. The
// caller owns all arrays. They may come from a file that was forged: a vector that does not fit is refused with
// std::invalid_argument when it is scored.
struct PackedView {
    const int32_t* content;
    size_t size;                   // of content
    const int64_t *starts, *ends;  // n_rows each
    size_t n_rows, n_columns;
    bool dense;
};

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
//   vectors    as many vectors
//   queries    codes and margins of the queries
//   rows       as many unit vectors
RankedBalls search_balls(const CodesView& documents, const PackedView& vectors, const BallQueries& queries,
                         const CsrView& rows, const BallOptions& options, size_t k, int threads, StopFlag& stop);

// Pairs of documents: left[i] with right[i]. The caller owns both arrays.
struct PairsView {
    const int64_t *left, *right;
    size_t count;
};

// The inner product of each pair of vectors.
std::vector<float> pair_scores(const PackedView& vectors, const PairsView& pairs, int threads, StopFlag& stop);

}  // namespace sthash
