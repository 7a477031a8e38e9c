#include "collection/ranking.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "compiler.hpp"

namespace sthash {

namespace {

SparseRow sparse_vector(const PackedView& vectors, size_t place) {
    const int64_t start = vectors.starts[place], size = (vectors.ends[place] - start) / 2;
    return {vectors.content + start, reinterpret_cast<const float*>(vectors.content + start + size),
            static_cast<long>(size)};
}

const float* dense_vector(const PackedView& vectors, size_t place) {
    return reinterpret_cast<const float*>(vectors.content + vectors.starts[place]);
}

// Eight running sums: wide enough to hide the latency of additions, the same on every machine.
float dense_dot(const float* a, const float* b, size_t size) {
    float sums[8] = {};
    size_t at = 0;
    for (; at + 8 <= size; at += 8)
        for (int lane = 0; lane < 8; ++lane) sums[lane] += a[at + lane] * b[at + lane];
    float rest = 0;
    for (; at < size; ++at) rest += a[at] * b[at];
    for (float sum : sums) rest += sum;
    return rest;
}

// A query spread over all columns.
class Spread {
 public:
    explicit Spread(size_t n_columns) : values_(n_columns) {}

    void set(const SparseRow& query) {
        for (long at = 0; at < query.size; ++at) values_[static_cast<size_t>(query.indices[at])] = query.values[at];
    }

    void clear(const SparseRow& query) {
        for (long at = 0; at < query.size; ++at) values_[static_cast<size_t>(query.indices[at])] = 0;
    }

    // The score of document `place`.
    float score(const PackedView& vectors, size_t place) const {
        if (vectors.dense) return dense_dot(values_.data(), dense_vector(vectors, place), values_.size());
        const SparseRow vector = sparse_vector(vectors, place);
        // Four sums, because one would wait for each addition before the next.
        float sums[4] = {};
        long at = 0;
        for (; at + 4 <= vector.size; at += 4)
            for (long lane = 0; lane < 4; ++lane)
                sums[lane] += values_[static_cast<size_t>(vector.indices[at + lane])] * vector.values[at + lane];
        for (; at < vector.size; ++at) sums[0] += values_[static_cast<size_t>(vector.indices[at])] * vector.values[at];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

 private:
    std::vector<float> values_;
};

struct Ranked {
    float score;
    int32_t place;
    friend bool operator<(const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score > b.score : a.place < b.place;
    }
};

// The k best of a ball, best first.
std::vector<Ranked> best_of(const std::vector<Ball::Member>& members, const PackedView& vectors, const Spread& spread,
                            size_t k) {
    constexpr size_t ahead = 12;
    std::vector<Ranked> best;
    for (size_t i = 0; i < members.size(); ++i) {
        if (i + 2 * ahead < members.size()) {
            STHASH_PREFETCH(vectors.starts + members[i + 2 * ahead].place);
            STHASH_PREFETCH(vectors.ends + members[i + 2 * ahead].place);
        }
        if (i + ahead < members.size()) {
            const int32_t* next = vectors.content + vectors.starts[members[i + ahead].place];
            for (int line = 0; line < 5; ++line) STHASH_PREFETCH(next + 16 * line);
        }
        const int32_t place = members[i].place;
        const Ranked ranked{spread.score(vectors, static_cast<size_t>(place)), place};
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

// Both have ascending columns.
float sparse_dot(const SparseRow& a, const SparseRow& b) {
    float sum = 0;
    for (long i = 0, j = 0; i < a.size && j < b.size;) {
        const int32_t from_a = a.indices[i], from_b = b.indices[j];
        if (from_a == from_b) sum += a.values[i] * b.values[j];
        i += from_a <= from_b;
        j += from_b <= from_a;
    }
    return sum;
}

}  // namespace

void check_vectors(const PackedView& vectors) {
    for (size_t place = 0; place < vectors.n_rows; ++place) {
        const int64_t start = vectors.starts[place], end = vectors.ends[place];
        bool fits = start >= 0 && end >= start && static_cast<uint64_t>(end) <= vectors.size;
        const int64_t size = fits ? end - start : 0;
        fits = fits && (vectors.dense ? static_cast<size_t>(size) == vectors.n_columns : size % 2 == 0);
        if (fits && !vectors.dense) {
            uint32_t largest = 0;  // a negative column becomes a huge one
            for (int64_t at = start; at < start + size / 2; ++at)
                largest = std::max(largest, static_cast<uint32_t>(vectors.content[at]));
            fits = size == 0 || largest < vectors.n_columns;
        }
        if (!fits)
            throw std::invalid_argument("The vector of document " + std::to_string(place) +
                                        " is malformed. Make the vectors anew, or restore a copy of the file.");
    }
}

RankedBalls search_balls(const CodesView& documents, const PackedView& vectors, const BallQueries& queries,
                         const CsrView& rows, const BallOptions& options, size_t k, int threads, StopFlag& stop) {
    const size_t words = documents.words;
    RankedBalls answers(queries.codes.count, k);
    const auto workers = static_cast<size_t>(std::max(threads, 1));
    const size_t together = std::clamp<size_t>((queries.codes.count + workers - 1) / workers, 1, 256);
    parallel_for(queries.codes.count, together, threads, stop, [&](size_t begin, size_t end, int) {
        Spread spread(vectors.n_columns);
        std::vector<Ball> balls = gather_balls(documents, queries, begin, end - begin, options, stop);
        for (size_t query = begin; query < end && !stop.load(std::memory_order_relaxed); ++query) {
            Ball& ball = balls[query - begin];
            const std::vector<Ball::Member>& members = ball.finish();
            spread.set(rows.row(query));
            const std::vector<Ranked> best = best_of(members, vectors, spread, k);
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

std::vector<float> pair_scores(const PackedView& vectors, const PairsView& pairs, int threads, StopFlag& stop) {
    std::vector<float> scores(pairs.count);
    parallel_for(pairs.count, 4096, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t pair = begin; pair < end; ++pair) {
            const auto left = static_cast<size_t>(pairs.left[pair]), right = static_cast<size_t>(pairs.right[pair]);
            scores[pair] = vectors.dense
                               ? dense_dot(dense_vector(vectors, left), dense_vector(vectors, right), vectors.n_columns)
                               : sparse_dot(sparse_vector(vectors, left), sparse_vector(vectors, right));
        }
    });
    return scores;
}

}  // namespace sthash
