// The Hamming balls around queries, by a scan of all codes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "parallel.hpp"

namespace sthash::ranking {

// Codes of `count` documents, `words` words each. The caller owns them.
struct CodesView {
    const uint64_t* codes;
    size_t words, count;
};

// Codes of queries, as wide as those of the documents, and how sure the queries are of their bits. The caller owns
// them.
struct BallQueries {
    CodesView codes;
    const float* margins;  // codes.count × n_bits; null if all bits count alike
    size_t n_bits;
};

// How large a ball is: all documents within `radius` bits or, without a radius, within the least radius that holds
// `wanted` documents. The second kind counts by margins if the queries have any: a bit counts as much as the query is
// sure of it, as a whole number (see whole_weights).
struct BallOptions {
    std::optional<int> radius;
    size_t wanted;
};

// The documents in the ball around one query, gathered from one stretch of them after the other. Where the radius is
// not given, it shrinks as soon as a smaller one holds as many as are wanted.
class Ball {
 public:
    struct Member {
        int32_t place;  // number of the document
        int32_t distance;
    };

    // `farthest` is the largest distance that can occur.
    Ball(const BallOptions& options, size_t farthest)
        : radius_(options.radius ? std::min(static_cast<size_t>(*options.radius), farthest) : farthest),
          wanted_(options.radius ? std::numeric_limits<size_t>::max() : options.wanted),
          at_distance_(farthest + 1) {}

    size_t radius() const { return radius_; }

    void add(size_t place, uint32_t distance) {
        if (distance > radius_) return;
        members_.push_back({static_cast<int32_t>(place), static_cast<int32_t>(distance)});
        ++at_distance_[distance];
        ++inside_;
        while (inside_ - at_distance_[radius_] >= wanted_) inside_ -= at_distance_[radius_--];
    }

    // Those within the radius, in any order.
    const std::vector<Member>& finish() {
        std::erase_if(members_, [&](const Member& member) { return static_cast<size_t>(member.distance) > radius_; });
        return members_;
    }

 private:
    size_t radius_, wanted_, inside_ = 0;
    std::vector<size_t> at_distance_;
    std::vector<Member> members_;
};

// The balls around the queries [first, first + count), on this thread. They are incomplete after a stop.
std::vector<Ball> gather_balls(const CodesView& documents, const BallQueries& queries, size_t first, size_t count,
                               const BallOptions& options, StopFlag& stop);

// Margins of one query as whole numbers, 64 × words of them: in proportion to their absolute values, rounded, at most
// 255 for the bits of a word together.
std::vector<float> whole_weights(const float* margins, size_t n_bits, size_t words);

}  // namespace sthash::ranking
