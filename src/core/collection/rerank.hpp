// The paper's way to answer a query: look into the Hamming ball around its code, and rank the documents found
// there by the cosine of their full vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

#define STHASH_KERNELS "collection/kernels.inc"
#include "each_path.inc"

namespace sthash {

inline void add_differences(const unsigned long* words, unsigned long query, long count, unsigned short* distances) {
    STHASH_DISPATCH(add_differences(words, query, count, distances))
}

// Documents in memory. Word w of the code of document i is planes[w * count + i]. Its vector lies in the words
// [starts[i], ends[i]) of the content: the values of a dense vector; of a sparse one the columns, then the values.
struct Shelf {
    const uint64_t* planes;
    size_t words, count;
    const int64_t *starts, *ends;
    const int32_t* content;
    bool dense;
};

struct SparseVector {
    const int32_t* columns;
    const float* values;
    size_t size;
};

inline SparseVector sparse_vector(const Shelf& shelf, size_t place) {
    const int64_t start = shelf.starts[place], size = (shelf.ends[place] - start) / 2;
    return {shelf.content + start, reinterpret_cast<const float*>(shelf.content + start + size),
            static_cast<size_t>(size)};
}

inline const float* dense_vector(const Shelf& shelf, size_t place) {
    return reinterpret_cast<const float*>(shelf.content + shelf.starts[place]);
}

// Queries: codes, and unit vectors (sparse rows; those of dense queries list every column).
struct Questions {
    const uint64_t* codes;
    size_t count;
    const int64_t* indptr;
    const int32_t* indices;
    const float* values;
    size_t columns;
};

// The ball has the given radius or, if that is negative, the least one that holds `wanted` documents.
struct Ball {
    int radius;
    size_t wanted;
};

struct Ranked {
    float score;
    int32_t place;
    friend bool operator<(const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score > b.score : a.place < b.place;
    }
};

// The best of each query, k a query, -1 where the ball holds fewer.
struct Answers {
    explicit Answers(size_t queries, size_t k)
        : k(k),
          places(queries * k, -1),
          scores(queries * k),
          distances(queries * k, -1),
          radii(queries),
          candidates(queries) {}
    size_t k;
    std::vector<int64_t> places;
    std::vector<float> scores;
    std::vector<int32_t> distances;
    std::vector<int32_t> radii;
    std::vector<int64_t> candidates;
};

// Eight running sums: wide enough to hide the latency of additions, the same on every machine.
inline float dense_dot(const float* a, const float* b, size_t size) {
    float sums[8] = {};
    size_t at = 0;
    for (; at + 8 <= size; at += 8)
        for (int lane = 0; lane < 8; ++lane) sums[lane] += a[at + lane] * b[at + lane];
    float rest = 0;
    for (; at < size; ++at) rest += a[at] * b[at];
    for (float sum : sums) rest += sum;
    return rest;
}

// The score of document `place`, where the query is spread over all columns.
inline float score_of(const Shelf& shelf, size_t place, const std::vector<float>& spread, size_t columns) {
    if (shelf.dense) return dense_dot(spread.data(), dense_vector(shelf, place), columns);
    const SparseVector vector = sparse_vector(shelf, place);
    float sum = 0;
    for (size_t at = 0; at < vector.size; ++at)
        sum += spread[static_cast<size_t>(vector.columns[at])] * vector.values[at];
    return sum;
}

// Distances of all documents from `count` queries at once, so that each code is fetched once for all of them.
inline void all_distances(const Shelf& shelf, const uint64_t* codes, size_t count, uint16_t* distances) {
    constexpr size_t stretch = 4096;
    std::fill(distances, distances + count * shelf.count, uint16_t{0});
    for (size_t begin = 0; begin < shelf.count; begin += stretch) {
        const long size = static_cast<long>(std::min(stretch, shelf.count - begin));
        for (size_t query = 0; query < count; ++query)
            for (size_t word = 0; word < shelf.words; ++word)
                add_differences(reinterpret_cast<const unsigned long*>(shelf.planes) + word * shelf.count + begin,
                                codes[query * shelf.words + word], size, distances + query * shelf.count + begin);
    }
}

inline int radius_of(const Ball& ball, const uint16_t* distances, size_t count, size_t n_bits) {
    if (ball.radius >= 0) return ball.radius;
    std::vector<size_t> histogram(n_bits + 1);
    for (size_t i = 0; i < count; ++i) ++histogram[distances[i]];
    size_t inside = 0;
    for (size_t radius = 0; radius < n_bits; ++radius)
        if ((inside += histogram[radius]) >= ball.wanted) return static_cast<int>(radius);
    return static_cast<int>(n_bits);
}

inline void rank_ball(const Shelf& shelf, const Questions& questions, size_t query, const uint16_t* distances,
                      const Ball& ball, std::vector<int32_t>& inside, std::vector<float>& spread,
                      std::vector<Ranked>& best, Answers& answers) {
    const int radius = radius_of(ball, distances, shelf.count, 64 * shelf.words);
    inside.resize(shelf.count);
    size_t found = 0;
    for (size_t i = 0; i < shelf.count; ++i) {
        inside[found] = static_cast<int32_t>(i);
        found += distances[i] <= radius;
    }
    for (int64_t at = questions.indptr[query]; at < questions.indptr[query + 1]; ++at)
        spread[static_cast<size_t>(questions.indices[at])] = questions.values[at];
    best.clear();
    constexpr size_t ahead = 8;
    for (size_t i = 0; i < found; ++i) {
        if (i + ahead < found) {
            const int32_t* next = shelf.content + shelf.starts[inside[i + ahead]];
            for (int line = 0; line < 4; ++line) __builtin_prefetch(next + 16 * line);
        }
        const float score = score_of(shelf, static_cast<size_t>(inside[i]), spread, questions.columns);
        const Ranked ranked{score, inside[i]};
        if (best.size() == answers.k && !(ranked < best.front())) continue;
        best.push_back(ranked);
        std::push_heap(best.begin(), best.end());
        if (best.size() > answers.k) {
            std::pop_heap(best.begin(), best.end());
            best.pop_back();
        }
    }
    for (int64_t at = questions.indptr[query]; at < questions.indptr[query + 1]; ++at)
        spread[static_cast<size_t>(questions.indices[at])] = 0;
    std::sort_heap(best.begin(), best.end());
    for (size_t rank = 0; rank < best.size(); ++rank) {
        answers.places[query * answers.k + rank] = best[rank].place;
        answers.scores[query * answers.k + rank] = best[rank].score;
        answers.distances[query * answers.k + rank] = distances[best[rank].place];
    }
    answers.radii[query] = radius;
    answers.candidates[query] = static_cast<int64_t>(found);
}

inline void search_balls(const Shelf& shelf, const Questions& questions, const Ball& ball, int threads, StopFlag& stop,
                         Answers& answers) {
    constexpr size_t together = 4;
    parallel_for(questions.count, together, threads, stop, [&](size_t begin, size_t end, int) {
        thread_local std::vector<uint16_t> distances;
        thread_local std::vector<int32_t> inside;
        thread_local std::vector<float> spread;
        thread_local std::vector<Ranked> best;
        distances.resize(together * shelf.count);
        if (spread.size() < questions.columns) spread.resize(questions.columns);  // zero again after every query
        all_distances(shelf, questions.codes + begin * shelf.words, end - begin, distances.data());
        for (size_t query = begin; query < end; ++query)
            rank_ball(shelf, questions, query, distances.data() + (query - begin) * shelf.count, ball, inside, spread,
                      best, answers);
    });
}

// The cosine of two documents, both of whose columns ascend.
inline float pair_score(const Shelf& shelf, size_t left, size_t right, size_t columns) {
    if (shelf.dense) return dense_dot(dense_vector(shelf, left), dense_vector(shelf, right), columns);
    const SparseVector a = sparse_vector(shelf, left), b = sparse_vector(shelf, right);
    float sum = 0;
    for (size_t i = 0, j = 0; i < a.size && j < b.size;) {
        const int32_t from_a = a.columns[i], from_b = b.columns[j];
        if (from_a == from_b) sum += a.values[i] * b.values[j];
        i += from_a <= from_b;
        j += from_b <= from_a;
    }
    return sum;
}

}  // namespace sthash
