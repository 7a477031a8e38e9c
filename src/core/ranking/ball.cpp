#include "ranking/ball.hpp"

#include <cmath>

#include "hamming/cost.hpp"
#include "hamming/kernels.hpp"
#include "hamming/weighted_kernels.hpp"

namespace sthash::ranking {

namespace {

// What the scan hands its hits to; `first` is the place of the first code that it looks at.
struct Hits {
    Ball* balls;
    size_t first;
};

int add_hits(void* context, size_t query, const uint32_t* offsets, const uint32_t* distances, size_t count) {
    const Hits& hits = *static_cast<Hits*>(context);
    Ball& ball = hits.balls[query];
    for (size_t i = 0; i < count; ++i) ball.add(hits.first + offsets[i], distances[i]);
    return static_cast<int>(ball.radius());
}

// By the number of bits that differ.
std::vector<Ball> gather_plain_balls(const CodesView& documents, const uint64_t* queries, size_t count,
                                     const BallOptions& options, StopFlag& stop) {
    // Of many queries, the bit-sliced scan counts up to 1,024 bits.
    constexpr size_t kMostWords = 16, kPiece = 2048;
    const size_t words = documents.words;
    const bool sliced = count >= hamming::CostModel::kBatch && words <= kMostWords;
    const hamming::Kernels& kernels = hamming::kernels();
    std::vector<Ball> balls(count, Ball(options, 64 * words));
    hamming::BatchQueries batch(queries, sliced ? count : 0, static_cast<int>(64 * std::min(words, kMostWords)),
                                kernels.lanes);
    uint32_t offsets[kPiece], distances[kPiece];
    Hits hits{balls.data(), 0};
    for (size_t query = 0; query < batch.count; ++query)
        batch.set_limit(query, static_cast<int>(balls[query].radius()));
    for (; hits.first < documents.count && !stop.load(std::memory_order_relaxed); hits.first += kPiece) {
        const uint64_t* codes = documents.codes + hits.first * words;
        const auto size = static_cast<uint32_t>(std::min(kPiece, documents.count - hits.first));
        if (sliced) {
            kernels.scan_batch(codes, size, batch, add_hits, &hits);
            continue;
        }
        for (size_t query = 0; query < count; ++query) {
            const size_t found = kernels.filter(codes, size, static_cast<int>(words), queries + query * words,
                                                static_cast<uint32_t>(balls[query].radius()), offsets, distances);
            add_hits(&hits, query, offsets, distances, found);
        }
    }
    return balls;
}

// By the weights of the bits that differ.
std::vector<Ball> gather_weighted_balls(const CodesView& documents, const BallQueries& queries, size_t first,
                                        size_t count, const BallOptions& options, StopFlag& stop) {
    constexpr size_t kStretch = 512;
    using hamming::Line;
    const hamming::weighted::Kernels& kernels = hamming::weighted::kernels();
    const int words = static_cast<int>(documents.words);
    const size_t parts = documents.words * static_cast<size_t>(kernels.parts_of_word);
    const size_t lines = (parts << kernels.part_bits) / sizeof(Line) + 1;
    std::vector<Line> tables(count * lines), split(kStretch * parts / sizeof(Line) + 1);
    for (size_t query = 0; query < count; ++query) {
        const float* margins = queries.margins + (first + query) * queries.n_bits;
        const std::vector<float> weights = whole_weights(margins, queries.n_bits, documents.words);
        kernels.build_bounds(queries.codes.codes + (first + query) * documents.words, weights.data(), words, 1.0f,
                             tables[query * lines].bytes);
    }
    std::vector<Ball> balls(count, Ball(options, 255 * documents.words));
    uint32_t offsets[kStretch], distances[kStretch];
    for (size_t begin = 0; begin < documents.count && !stop.load(std::memory_order_relaxed); begin += kStretch) {
        const size_t size = std::min(kStretch, documents.count - begin);
        const size_t groups = (size + kernels.group - 1) / kernels.group;
        kernels.split(documents.codes + begin * documents.words, static_cast<uint32_t>(size), words, split[0].bytes);
        for (size_t query = 0; query < count; ++query) {
            const size_t found = kernels.add_up(split[0].bytes, groups, words, tables[query * lines].bytes,
                                                static_cast<uint32_t>(balls[query].radius()), offsets, distances);
            for (size_t i = 0; i < found; ++i)
                if (offsets[i] < size) balls[query].add(begin + offsets[i], distances[i]);
        }
    }
    return balls;
}

}  // namespace

std::vector<Ball> gather_balls(const CodesView& documents, const BallQueries& queries, size_t first, size_t count,
                               const BallOptions& options, StopFlag& stop) {
    if (queries.margins != nullptr && !options.radius)
        return gather_weighted_balls(documents, queries, first, count, options, stop);
    return gather_plain_balls(documents, queries.codes.codes + first * documents.words, count, options, stop);
}

std::vector<float> whole_weights(const float* margins, size_t n_bits, size_t words) {
    constexpr float kMost = 255 - 32;  // rounding may add up to half a unit per bit
    std::vector<float> weights(64 * words);
    float heaviest = 0;
    for (size_t w = 0; w < words; ++w) {
        float sum = 0;
        for (size_t p = 64 * w; p < std::min(64 * w + 64, n_bits); ++p) sum += std::abs(margins[p]);
        heaviest = std::max(heaviest, sum);
    }
    if (heaviest > 0)
        for (size_t p = 0; p < n_bits; ++p) weights[p] = std::floor(std::abs(margins[p]) / heaviest * kMost + 0.5f);
    return weights;
}

}  // namespace sthash::ranking
