// Rows that are equal to an earlier one.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "parallel.hpp"
#include "text/word_table.hpp"

namespace sthash {

// For each row the first one whose entries are the same, in the same order. Row i has the entries from bounds[i] to
// bounds[i + 1] of each of the columns.
template <class... Column>
std::vector<int64_t> first_equal_rows(const int64_t* bounds, size_t n_rows, int threads, StopFlag& stop,
                                      const Column*... columns) {
    const auto same = [&](size_t a, size_t b) {
        const int64_t size = bounds[a + 1] - bounds[a];
        if (size != bounds[b + 1] - bounds[b]) return false;
        return size == 0 ||
               ((std::memcmp(columns + bounds[a], columns + bounds[b], size * sizeof(Column)) == 0) && ...);
    };
    const auto bits = [](auto value) -> uint64_t {
        if constexpr (std::is_floating_point_v<decltype(value)>)
            return std::bit_cast<uint32_t>(value);
        else
            return static_cast<uint64_t>(value);
    };
    std::vector<int64_t> first(n_rows);
    std::vector<uint64_t> hashes(n_rows);
    // Keyed, so that nobody can choose rows that collide.
    parallel_for(n_rows, 1024, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) {
            uint64_t hash = hash_key.start;
            for (int64_t at = bounds[row]; at < bounds[row + 1]; ++at)
                ((hash = folded_product(hash ^ bits(columns[at]), hash_key.factor)), ...);
            hashes[row] = hash;
        }
    });
    const size_t mask = std::bit_ceil(2 * n_rows + 1) - 1;
    std::vector<int64_t> slots(mask + 1, -1);
    for (size_t row = 0; row < n_rows && !stop.load(std::memory_order_relaxed); ++row) {
        for (size_t at = hashes[row] & mask;; at = (at + 1) & mask) {
            if (slots[at] < 0) slots[at] = static_cast<int64_t>(row);
            if (hashes[slots[at]] == hashes[row] && same(static_cast<size_t>(slots[at]), row)) {
                first[row] = slots[at];
                break;
            }
        }
    }
    return first;
}

}  // namespace sthash
