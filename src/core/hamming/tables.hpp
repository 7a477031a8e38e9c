// Hash tables over substrings of the codes (multi-index hashing), and over the whole code if it is short.
//
// If two codes differ in at most r bits, then among s disjoint substrings one differs in at most r / s. So
// table t, keyed by substring t, is probed with every key within a small distance of the query's, and what
// lies in those buckets is checked. With one table on the whole code this is the plain enumeration of a
// Hamming ball.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "hamming/snapshot.hpp"
#include "parallel.hpp"

namespace sthash::hamming {

// `width` bits of a code from bit `start` on; at most 32, possibly across two words.
struct Substring {
    int start, width;

    uint32_t of(const uint64_t* code) const {
        const int word = start / 64, shift = start % 64;
        uint64_t bits = code[word] >> shift;
        if (shift + width > 64) bits |= code[word + 1] << (64 - shift);
        return static_cast<uint32_t>(bits & ((uint64_t{1} << width) - 1));
    }
};

// Buckets in the order of their keys, in each the slots in ascending order, next to a word of their code: all
// of it if the code fits, otherwise a part that rules most candidates out before their code is fetched.
struct Table {
    Substring key;
    int print_word;
    std::vector<uint32_t> begins;  // 2^width + 1
    std::unique_ptr<uint64_t[]> prints;
    std::unique_ptr<uint32_t[]> slots;
};

struct Tables {
    uint64_t slots;  // slots [0, slots) are covered
    std::vector<Table> tables;
    std::vector<Substring> keys;  // of the tables
    // Cost of the k nearest by these tables over that of a scan, a running mean for each magnitude of k; for
    // single queries and for batches, whose scans are cheaper.
    mutable std::array<std::atomic<float>, 2 * 65> verdicts{};
    mutable std::atomic<uint32_t> trials{0};

    uint64_t bytes() const;
};

// Four substrings for long codes, one for short ones; keys no wider than the number of codes makes sensible.
std::vector<Substring> choose_substrings(int n_bits, uint64_t slots);

// Null if stopped.
std::shared_ptr<const Tables> build_tables(const Snapshot& snapshot, int threads, StopFlag& stop);

}  // namespace sthash::hamming
