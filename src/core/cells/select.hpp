// Selecting the best of many scored things, without a branch per thing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sthash::cells {

// A number that is the smaller the better a score is, and among equal scores the smaller the number is.
inline uint64_t key_of(float score, uint32_t number) {
    const uint32_t bits = std::bit_cast<uint32_t>(score + 0.0f);  // −0 is 0
    const uint32_t upwards = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return uint64_t{~upwards} << 32 | number;
}

inline float score_of(uint64_t key) {
    const uint32_t upwards = ~static_cast<uint32_t>(key >> 32);
    return std::bit_cast<float>((upwards & 0x80000000u) != 0 ? upwards & 0x7FFFFFFFu : ~upwards);
}

inline uint32_t number_of(uint64_t key) {
    return static_cast<uint32_t>(key);
}

// Keeps the `wanted` smallest keys, in any order, of more than that; returns the largest that is kept. `wanted` is at
// least 1; `edge` is memory to work with.
inline uint64_t keep_least(std::vector<uint64_t>& keys, size_t wanted, std::vector<uint64_t>& edge) {
    uint32_t low = UINT32_MAX, high = 0;
    for (const uint64_t key : keys) {
        low = std::min(low, static_cast<uint32_t>(key >> 32));
        high = std::max(high, static_cast<uint32_t>(key >> 32));
    }
    const int shift = std::max(0, static_cast<int>(std::bit_width(high - low)) - 8);
    const auto bucket = [&](uint64_t key) { return (static_cast<uint32_t>(key >> 32) - low) >> shift; };
    uint32_t counts[256] = {};
    for (const uint64_t key : keys) ++counts[bucket(key)];
    size_t before = 0;
    uint32_t last = 0;  // the bucket in which the largest key that is kept lies
    while (before + counts[last] < wanted) before += counts[last++];
    // Those of smaller buckets move to the front, those of the last one behind them.
    size_t kept = 0;
    edge.resize(std::max<size_t>(edge.size(), counts[last] + 1));
    size_t at_edge = 0;
    for (const uint64_t key : keys) {
        const uint32_t own = bucket(key);
        keys[kept] = key;
        kept += own < last ? 1 : 0;
        edge[at_edge] = key;
        at_edge += own == last ? 1 : 0;
    }
    const auto worst = edge.begin() + static_cast<ptrdiff_t>(wanted - before - 1);
    std::nth_element(edge.begin(), worst, edge.begin() + static_cast<ptrdiff_t>(at_edge));
    std::copy(edge.begin(), worst + 1, keys.begin() + static_cast<ptrdiff_t>(kept));
    keys.resize(wanted);
    return *worst;
}

}  // namespace sthash::cells
