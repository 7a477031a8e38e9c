// The paper's way to answer a query: look into the Hamming ball around its code, and rank the documents found
// there by the cosine of their full vectors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "hamming/cost.hpp"
#include "hamming/kernels.hpp"
#include "hamming/weighted_kernels.hpp"
#include "parallel.hpp"

namespace sthash {

// Documents in memory. The code of document i is codes[i * words] and what follows. Its vector lies in the words
// [starts[i], ends[i]) of the content: the values of a dense vector; of a sparse one the columns, then the values.
struct Shelf {
    const uint64_t* codes;
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
    const float* margins;  // n_bits a query, or null where all bits weigh alike
    size_t n_bits;
    size_t count;
    const int64_t* indptr;
    const int32_t* indices;
    const float* values;
    size_t columns;
};

// The ball has the given radius in bits or, if that is negative, the least one that holds `wanted` documents; this one
// is in weighted bits, if there are margins.
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

// A query spread over all columns.
class Spread {
 public:
    explicit Spread(size_t columns) : values_(columns) {}

    void set(const Questions& questions, size_t query) {
        for (int64_t at = questions.indptr[query]; at < questions.indptr[query + 1]; ++at) {
            const size_t column = static_cast<size_t>(questions.indices[at]);
            values_[column] = questions.values[at];
        }
    }

    void clear(const Questions& questions, size_t query) {
        for (int64_t at = questions.indptr[query]; at < questions.indptr[query + 1]; ++at) {
            const size_t column = static_cast<size_t>(questions.indices[at]);
            values_[column] = 0;
        }
    }

    // The score of document `place`.
    float score(const Shelf& shelf, size_t place) const {
        if (shelf.dense) return dense_dot(values_.data(), dense_vector(shelf, place), values_.size());
        const SparseVector vector = sparse_vector(shelf, place);
        // Four sums, because one would wait for each addition before the next.
        float sums[4] = {};
        size_t at = 0;
        for (; at + 4 <= vector.size; at += 4)
            for (size_t lane = 0; lane < 4; ++lane)
                sums[lane] += values_[static_cast<size_t>(vector.columns[at + lane])] * vector.values[at + lane];
        for (; at < vector.size; ++at) sums[0] += values_[static_cast<size_t>(vector.columns[at])] * vector.values[at];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

 private:
    std::vector<float> values_;
};

// The documents in the ball around a query, gathered from one stretch of them after the other. Where the radius is not
// given, it shrinks as soon as a smaller one holds as many as are wanted.
class Gathering {
 public:
    struct Member {
        int32_t place;
        int32_t distance;
    };

    Gathering(const Ball& ball, size_t farthest)
        : radius_(ball.radius < 0 ? farthest : std::min(static_cast<size_t>(ball.radius), farthest)),
          wanted_(ball.radius < 0 ? ball.wanted : std::numeric_limits<size_t>::max()),
          at_distance_(farthest + 1) {}

    size_t radius() const { return radius_; }

    void add(size_t place, uint32_t distance) {
        if (distance > radius_) return;
        members_.push_back({static_cast<int32_t>(place), static_cast<int32_t>(distance)});
        ++at_distance_[distance];
        ++inside_;
        while (inside_ - at_distance_[radius_] >= wanted_) inside_ -= at_distance_[radius_--];
    }

    // Those within the radius.
    const std::vector<Member>& finish() {
        std::erase_if(members_, [&](const Member& member) { return static_cast<size_t>(member.distance) > radius_; });
        return members_;
    }

 private:
    size_t radius_, wanted_, inside_ = 0;
    std::vector<size_t> at_distance_;
    std::vector<Member> members_;
};

// What the scan hands its hits to; `first` is the place of the first code that it looks at.
struct Hits {
    Gathering* balls;
    size_t first;
};

inline int add_hits(void* context, size_t query, const uint32_t* offsets, const uint32_t* distances, size_t count) {
    const Hits& hits = *static_cast<Hits*>(context);
    Gathering& ball = hits.balls[query];
    for (size_t i = 0; i < count; ++i) ball.add(hits.first + offsets[i], distances[i]);
    return static_cast<int>(ball.radius());
}

// Scans the codes for some queries at once.
inline std::vector<Gathering> gather_balls(const Shelf& shelf, const uint64_t* queries, size_t count, const Ball& ball,
                                           StopFlag& stop) {
    // Of many queries, the bit-sliced scan counts up to 1,024 bits.
    constexpr size_t most_words = 16, piece = 2048;
    const bool sliced = count >= hamming::CostModel::kBatch && shelf.words <= most_words;
    const hamming::Kernels& kernels = hamming::kernels();
    std::vector<Gathering> balls(count, Gathering(ball, 64 * shelf.words));
    hamming::BatchQueries batch(queries, sliced ? count : 0, static_cast<int>(64 * std::min(shelf.words, most_words)),
                                kernels.lanes);
    uint32_t offsets[piece], distances[piece];
    Hits hits{balls.data(), 0};
    for (size_t query = 0; query < batch.count; ++query)
        batch.set_limit(query, static_cast<int>(balls[query].radius()));
    for (; hits.first < shelf.count && !stop.load(std::memory_order_relaxed); hits.first += piece) {
        const uint64_t* codes = shelf.codes + hits.first * shelf.words;
        const auto size = static_cast<uint32_t>(std::min(piece, shelf.count - hits.first));
        if (sliced) {
            kernels.scan_batch(codes, size, batch, add_hits, &hits);
            continue;
        }
        for (size_t query = 0; query < count; ++query) {
            const size_t found =
                kernels.filter(codes, size, static_cast<int>(shelf.words), queries + query * shelf.words,
                               static_cast<uint32_t>(balls[query].radius()), offsets, distances);
            add_hits(&hits, query, offsets, distances, found);
        }
    }
    return balls;
}

// Margins as whole numbers, at most 255 for the bits of a word together: rounded, up to half a unit a bit may be added.
inline std::vector<float> whole_weights(const float* margins, size_t n_bits, size_t words) {
    constexpr float most = 255 - 32;
    std::vector<float> weights(64 * words);
    float heaviest = 0;
    for (size_t w = 0; w < words; ++w) {
        float sum = 0;
        for (size_t p = 64 * w; p < std::min(64 * w + 64, n_bits); ++p) sum += std::abs(margins[p]);
        heaviest = std::max(heaviest, sum);
    }
    if (heaviest > 0)
        for (size_t p = 0; p < n_bits; ++p) weights[p] = std::floor(std::abs(margins[p]) / heaviest * most + 0.5f);
    return weights;
}

// As gather_balls, by the weights of the bits that differ.
inline std::vector<Gathering> gather_weighted_balls(const Shelf& shelf, const Questions& questions, size_t first,
                                                    size_t count, const Ball& ball, StopFlag& stop) {
    constexpr size_t stretch = 512;
    const hamming::weighted::Kernels& kernels = hamming::weighted::kernels();
    using hamming::weighted::Line;
    const int words = static_cast<int>(shelf.words);
    const size_t lines = (shelf.words * static_cast<size_t>(kernels.parts_of_word) << kernels.part_bits) / 64 + 1;
    std::vector<Line> tables(count * lines), split(stretch * shelf.words * kernels.parts_of_word / 64 + 1);
    for (size_t query = 0; query < count; ++query) {
        const std::vector<float> weights =
            whole_weights(questions.margins + (first + query) * questions.n_bits, questions.n_bits, shelf.words);
        kernels.build_bounds(questions.codes + (first + query) * shelf.words, weights.data(), words, 1.0f,
                             tables[query * lines].bytes);
    }
    std::vector<Gathering> balls(count, Gathering(ball, 255 * shelf.words));
    uint32_t offsets[stretch], distances[stretch];
    for (size_t begin = 0; begin < shelf.count && !stop.load(std::memory_order_relaxed); begin += stretch) {
        const size_t size = std::min(stretch, shelf.count - begin), groups = (size + kernels.group - 1) / kernels.group;
        kernels.split(shelf.codes + begin * shelf.words, static_cast<uint32_t>(size), words, split[0].bytes);
        for (size_t query = 0; query < count; ++query) {
            const size_t found = kernels.add_up(split[0].bytes, groups, words, tables[query * lines].bytes,
                                                static_cast<uint32_t>(balls[query].radius()), offsets, distances);
            for (size_t i = 0; i < found; ++i)
                if (offsets[i] < size) balls[query].add(begin + offsets[i], distances[i]);
        }
    }
    return balls;
}

// By margins where there are any, unless the radius is given in bits.
inline std::vector<Gathering> gather_any(const Shelf& shelf, const Questions& questions, size_t first, size_t count,
                                         const Ball& ball, StopFlag& stop) {
    if (questions.margins != nullptr && ball.radius < 0)
        return gather_weighted_balls(shelf, questions, first, count, ball, stop);
    return gather_balls(shelf, questions.codes + first * shelf.words, count, ball, stop);
}

inline int32_t bits_apart(const Shelf& shelf, size_t place, const uint64_t* code) {
    int distance = 0;
    for (size_t w = 0; w < shelf.words; ++w) distance += std::popcount(shelf.codes[place * shelf.words + w] ^ code[w]);
    return distance;
}

inline void rank_ball(const Shelf& shelf, const Questions& questions, size_t query, Gathering& ball, Spread& spread,
                      Answers& answers) {
    const std::vector<Gathering::Member>& members = ball.finish();
    std::vector<Ranked> best;
    spread.set(questions, query);
    constexpr size_t ahead = 12;
    for (size_t i = 0; i < members.size(); ++i) {
        if (i + 2 * ahead < members.size()) {
            __builtin_prefetch(shelf.starts + members[i + 2 * ahead].place);
            __builtin_prefetch(shelf.ends + members[i + 2 * ahead].place);
        }
        if (i + ahead < members.size()) {
            const int32_t* next = shelf.content + shelf.starts[members[i + ahead].place];
            for (int line = 0; line < 5; ++line) __builtin_prefetch(next + 16 * line);
        }
        const int32_t place = members[i].place;
        const Ranked ranked{spread.score(shelf, static_cast<size_t>(place)), place};
        if (best.size() == answers.k && !(ranked < best.front())) continue;
        best.push_back(ranked);
        std::push_heap(best.begin(), best.end());
        if (best.size() > answers.k) {
            std::pop_heap(best.begin(), best.end());
            best.pop_back();
        }
    }
    spread.clear(questions, query);
    std::sort_heap(best.begin(), best.end());
    for (size_t rank = 0; rank < best.size(); ++rank) {
        answers.places[query * answers.k + rank] = best[rank].place;
        answers.scores[query * answers.k + rank] = best[rank].score;
        answers.distances[query * answers.k + rank] =
            bits_apart(shelf, static_cast<size_t>(best[rank].place), questions.codes + query * shelf.words);
    }
    answers.radii[query] = static_cast<int32_t>(ball.radius());
    answers.candidates[query] = static_cast<int64_t>(members.size());
}

inline void search_balls(const Shelf& shelf, const Questions& questions, const Ball& ball, int threads, StopFlag& stop,
                         Answers& answers) {
    const auto workers = static_cast<size_t>(std::max(threads, 1));
    const size_t together = std::clamp<size_t>((questions.count + workers - 1) / workers, 1, 256);
    parallel_for(questions.count, together, threads, stop, [&](size_t begin, size_t end, int) {
        Spread spread(questions.columns);
        std::vector<Gathering> balls = gather_any(shelf, questions, begin, end - begin, ball, stop);
        for (size_t query = begin; query < end && !stop.load(std::memory_order_relaxed); ++query)
            rank_ball(shelf, questions, query, balls[query - begin], spread, answers);
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
