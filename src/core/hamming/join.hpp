// All pairs of codes within a radius, block by block.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "hamming/index.hpp"

namespace sthash::hamming {

struct PairBlock {
    std::vector<int64_t> left, right;
    std::vector<int32_t> distances;
};

// Each code of the left side is a query to the right one. A self-join reports a pair once, the smaller id first.
class Join {
 public:
    Join(Index& left, Index& right, int radius, int threads)
        : right_index_(right), self_(&left == &right), radius_(radius), threads_(threads), left_(left.snapshot()) {}

    // The next pairs, at least one unless none are left. A block holds about kBlock pairs at most, unless one code
    // alone has more.
    PairBlock next(StopFlag& stop);

 private:
    static constexpr size_t kBlock = size_t{1} << 20;
    static constexpr size_t kGroup = 4096;

    // A join asks as many queries as there are codes: whether tables pay can be told beforehand.
    void prepare(StopFlag& stop);
    void advance(PairBlock& block, StopFlag& stop);

    std::mutex mutex_;  // several threads may take blocks of one join
    Index& right_index_;
    const bool self_;
    const int radius_, threads_;
    const Reading left_;
    Reading right_;
    uint64_t position_ = 0;
    size_t group_ = kGroup;
};

}  // namespace sthash::hamming
