#include "hamming/tables.hpp"

#include <algorithm>
#include <bit>

namespace sthash::hamming {

uint64_t Tables::bytes() const {
    uint64_t sum = 0;
    for (const Table& table : tables) sum += slots * 12 + table.begins.size() * 4;
    return sum;
}

std::vector<Substring> choose_substrings(int n_bits, uint64_t slots) {
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

namespace {

void build_table(Table& table, const Snapshot& snapshot, uint64_t slots, StopFlag& stop) {
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

}  // namespace

std::shared_ptr<const Tables> build_tables(const Snapshot& snapshot, int threads, StopFlag& stop) {
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
