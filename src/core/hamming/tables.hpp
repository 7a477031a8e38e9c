// Hash tables over substrings of the codes (multi-index hashing), and over the whole code if it is short.
//
// If two codes differ in at most r bits, then among s disjoint substrings one differs in at most r / s. So
// table t, keyed by substring t, is probed with every key within a small distance of the query's, and what
// lies in those buckets is checked. With one table on the whole code this is the plain enumeration of a
// Hamming ball.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
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

    uint64_t bytes() const {
        uint64_t sum = 0;
        for (const Table& table : tables) sum += slots * 12 + table.begins.size() * 4;
        return sum;
    }
};

// Four substrings for long codes, one for short ones; keys no wider than the number of codes makes sensible.
inline std::vector<Substring> choose_substrings(int n_bits, uint64_t slots) {
    const int count = n_bits <= 24 ? 1 : n_bits <= 40 ? 2 : n_bits <= 56 ? 3 : 4;
    const int magnitude = std::bit_width(std::max<uint64_t>(slots, 1));
    const int widest = count == 1 ? std::min(24, magnitude + 2) : std::clamp(magnitude - 3, 8, 20);
    std::vector<Substring> substrings;
    for (int t = 0; t < count; ++t) {
        const int start = t * n_bits / count, end = (t + 1) * n_bits / count;
        substrings.push_back({start, std::min(end - start, widest)});
    }
    return substrings;
}

inline void build_table(Table& table, const Snapshot& snapshot, uint64_t slots, StopFlag& stop) {
    const std::vector<Run> runs = snapshot.runs(0, slots);
    const int words = snapshot.words;
    table.begins.assign((size_t{1} << table.key.width) + 1, 0);
    table.prints = std::make_unique_for_overwrite<uint64_t[]>(slots);
    table.slots = std::make_unique_for_overwrite<uint32_t[]>(slots);
    for (const Run& run : runs) {
        const uint64_t* code = run.codes(words);
        for (uint32_t i = 0; i < run.count; ++i, code += words) ++table.begins[table.key.of(code) + 1];
        if (stop.load(std::memory_order_relaxed)) return;
    }
    for (size_t key = 1; key < table.begins.size(); ++key) table.begins[key] += table.begins[key - 1];
    uint32_t slot = 0;
    for (const Run& run : runs) {  // begins[key] serves as the place of the next code, and ends as its successor's
        const uint64_t* code = run.codes(words);
        for (uint32_t i = 0; i < run.count; ++i, code += words, ++slot) {
            const uint32_t place = table.begins[table.key.of(code)]++;
            table.prints[place] = code[table.print_word];
            table.slots[place] = slot;
        }
        if (stop.load(std::memory_order_relaxed)) return;
    }
    std::copy_backward(table.begins.begin(), table.begins.end() - 1, table.begins.end());
    table.begins[0] = 0;
}

// Null if stopped.
inline std::shared_ptr<const Tables> build_tables(const Snapshot& snapshot, int threads, StopFlag& stop) {
    auto result = std::make_shared<Tables>();
    result->slots = snapshot.slots;
    result->keys = choose_substrings(snapshot.n_bits, snapshot.slots);
    for (const Substring& key : result->keys) {
        Table& table = result->tables.emplace_back();
        table.key = key;
        table.print_word = (key.start / 64 + (snapshot.words + 1) / 2) % snapshot.words;
    }
    parallel_for(result->tables.size(), 1, threads, stop,
                 [&](size_t t, size_t, int) { build_table(result->tables[t], snapshot, snapshot.slots, stop); });
    if (stop.load()) return nullptr;
    return result;
}

}  // namespace sthash::hamming
