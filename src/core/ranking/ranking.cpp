#include "ranking/ranking.hpp"

#include <algorithm>
#include <bit>

#include "compiler.hpp"
#include "dot.hpp"

namespace sthash::ranking {

namespace {

struct Ranked {
    float score;
    int32_t place;
    friend bool operator<(const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score > b.score : a.place < b.place;
    }
};

// The k best of a ball, best first. `query` has a value per column.
std::vector<Ranked> best_of(const std::vector<Ball::Member>& members, const RowsView& vectors, const float* query,
                            size_t k) {
    constexpr size_t kAhead = 12;
    std::vector<Ranked> best;
    for (size_t i = 0; i < members.size(); ++i) {
        if (i + 2 * kAhead < members.size()) {
            STHASH_PREFETCH(vectors.starts + members[i + 2 * kAhead].place);
            STHASH_PREFETCH(vectors.ends + members[i + 2 * kAhead].place);
        }
        if (i + kAhead < members.size()) {
            const SparseRow next = vectors.row(static_cast<size_t>(members[i + kAhead].place));
            for (int line = 0; line < (vectors.dense ? 5 : 3); ++line) {
                STHASH_PREFETCH(next.values + 16 * line);
                if (!vectors.dense) STHASH_PREFETCH(next.indices + 16 * line);
            }
        }
        const int32_t place = members[i].place;
        const SparseRow vector = vectors.row(static_cast<size_t>(place));
        const Ranked ranked{vectors.dense ? dot(query, vector.values, vectors.n_columns) : dot(vector, query), place};
        if (best.size() == k && !(ranked < best.front())) continue;
        best.push_back(ranked);
        std::push_heap(best.begin(), best.end());
        if (best.size() > k) {
            std::pop_heap(best.begin(), best.end());
            best.pop_back();
        }
    }
    std::sort_heap(best.begin(), best.end());
    return best;
}

int32_t bits_apart(const uint64_t* a, const uint64_t* b, size_t words) {
    int distance = 0;
    for (size_t w = 0; w < words; ++w) distance += std::popcount(a[w] ^ b[w]);
    return distance;
}

}  // namespace

RankedBalls search_balls(const CodesView& documents, const RowsView& vectors, const BallQueries& queries,
                         const RowsView& rows, const BallOptions& options, size_t k, int threads, StopFlag& stop) {
    const size_t words = documents.words;
    RankedBalls answers(queries.codes.count, k);
    const auto workers = static_cast<size_t>(std::max(threads, 1));
    const size_t together = std::clamp<size_t>((queries.codes.count + workers - 1) / workers, 1, 256);
    parallel_for(queries.codes.count, together, threads, stop, [&](size_t begin, size_t end, int) {
        Spread spread;
        spread.resize(vectors.n_columns);
        std::vector<Ball> balls = gather_balls(documents, queries, begin, end - begin, options, stop);
        for (size_t query = begin; query < end && !stop.load(std::memory_order_relaxed); ++query) {
            Ball& ball = balls[query - begin];
            const std::vector<Ball::Member>& members = ball.finish();
            spread.set(rows.row(query));
            const std::vector<Ranked> best = best_of(members, vectors, spread.data(), k);
            spread.clear(rows.row(query));
            for (size_t rank = 0; rank < best.size(); ++rank) {
                const auto place = static_cast<size_t>(best[rank].place);
                answers.places[query * k + rank] = best[rank].place;
                answers.scores[query * k + rank] = best[rank].score;
                answers.distances[query * k + rank] =
                    bits_apart(documents.codes + place * words, queries.codes.codes + query * words, words);
            }
            answers.radii[query] = static_cast<int32_t>(ball.radius());
            answers.candidates[query] = static_cast<int64_t>(members.size());
        }
    });
    return answers;
}

std::vector<float> pair_scores(const RowsView& vectors, const PairsView& pairs, int threads, StopFlag& stop) {
    std::vector<float> scores(pairs.count);
    parallel_for(pairs.count, 4096, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t pair = begin; pair < end; ++pair) {
            const SparseRow left = vectors.row(static_cast<size_t>(pairs.left[pair]));
            const SparseRow right = vectors.row(static_cast<size_t>(pairs.right[pair]));
            scores[pair] = vectors.dense ? dot(left.values, right.values, vectors.n_columns) : dot(left, right);
        }
    });
    return scores;
}

}  // namespace sthash::ranking
