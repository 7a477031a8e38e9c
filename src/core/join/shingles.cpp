#include "join/shingles.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

namespace sthash {

uint64_t lasting_hash(const PaddedWord& word) {
    constexpr uint64_t factor = 0xA0761D6478BD642Full;
    uint64_t hash = 0xE7037ED1A0B428DBull + word.size;
    for (size_t at = 0; at < word.size; at += 8)
        hash = folded_product(hash ^ chunk_at(word.data + at, word.size - at), factor);
    return folded_product(hash ^ word.size, 0x8EBC6AF09C88C6E3ull);
}

namespace {

std::vector<uint64_t> shingles_in_order(const int32_t* words, size_t count, const uint64_t* hashes, size_t size) {
    std::vector<uint64_t> shingles;
    if (count == 0) return shingles;
    size = std::min(size, count);
    shingles.reserve(count - size + 1);
    for (size_t first = 0; first + size <= count; ++first) {
        uint64_t hash = size;
        for (size_t at = first; at < first + size; ++at)
            hash = folded_product(hash ^ hashes[words[at]], 0x9FB21C651E98DF25ull) + std::rotl(hash, 23);
        shingles.push_back(hash);
    }
    return shingles;
}

}  // namespace

Sets shingle_sets(const WordsView& texts, const uint64_t* hashes, size_t size, int threads, StopFlag& stop) {
    constexpr size_t grain = 256;
    std::vector<std::vector<uint64_t>> pieces((texts.n_texts + grain - 1) / grain);
    Sets sets;
    sets.indptr.assign(texts.n_texts + 1, 0);
    parallel_for(texts.n_texts, grain, threads, stop, [&](size_t begin, size_t end, int) {
        std::vector<uint64_t>& piece = pieces[begin / grain];
        for (size_t i = begin; i < end; ++i) {
            const int64_t first = texts.starts[i], last = texts.starts[i + 1];
            std::vector<uint64_t> own = shingles_in_order(texts.words + first, last - first, hashes, size);
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
            piece.insert(piece.end(), own.begin(), own.end());
            sets.indptr[i + 1] = static_cast<int64_t>(own.size());
        }
    });
    for (size_t i = 0; i < texts.n_texts; ++i) sets.indptr[i + 1] += sets.indptr[i];
    sets.items.reserve(sets.indptr.back());
    for (std::vector<uint64_t>& piece : pieces) {
        sets.items.insert(sets.items.end(), piece.begin(), piece.end());
        std::vector<uint64_t>().swap(piece);
    }
    return sets;
}

namespace {

struct Occurrence {
    uint64_t item;
    int64_t place;
};

// Items are handled by ranges of their hashes, some ranges at a time: memory for this many occurrences is enough.
constexpr size_t at_once = size_t{1} << 24;
constexpr int range_bits = 12;

}  // namespace

SharedColumns shared_columns(const int64_t* indptr, size_t n_sets, const uint64_t* items, int threads, StopFlag& stop) {
    const int64_t size = indptr[n_sets];
    constexpr size_t n_ranges = size_t{1} << range_bits;
    const auto range_of = [](uint64_t item) { return static_cast<size_t>(item >> (64 - range_bits)); };
    std::vector<int64_t> counts(n_ranges, 0);
    for (int64_t at = 0; at < size; ++at) ++counts[range_of(items[at])];
    std::vector<int32_t> column_at(size, -1);
    size_t n_columns = 0;
    for (size_t first = 0; first < n_ranges && !stop.load();) {
        std::vector<int64_t> starts{0};
        size_t end = first;
        while (end < n_ranges && (end == first || static_cast<size_t>(starts.back() + counts[end]) <= at_once))
            starts.push_back(starts.back() + counts[end++]);
        std::vector<Occurrence> occurrences(starts.back());
        std::vector<int64_t> next(starts.begin(), starts.end() - 1);
        for (int64_t at = 0; at < size; ++at)
            if (const size_t range = range_of(items[at]); range >= first && range < end)
                occurrences[next[range - first]++] = {items[at], at};
        std::vector<size_t> found(end - first, 0);
        parallel_for(end - first, 8, threads, stop, [&](size_t from, size_t to, int) {
            for (size_t range = from; range < to; ++range) {
                Occurrence *at = occurrences.data() + starts[range], *const last =
                                                                         occurrences.data() + starts[range + 1];
                std::sort(at, last, [](const Occurrence& a, const Occurrence& b) {
                    return a.item != b.item ? a.item < b.item : a.place < b.place;
                });
                while (at != last) {
                    Occurrence* const begin = at;
                    while (at != last && at->item == begin->item) ++at;
                    if (at - begin < 2) continue;
                    for (Occurrence* own = begin; own != at; ++own)
                        column_at[own->place] = static_cast<int32_t>(found[range]);
                    ++found[range];
                }
            }
        });
        size_t total = n_columns;
        std::vector<size_t> offset(found.size());
        for (size_t range = 0; range < found.size(); ++range) {
            offset[range] = total;
            total += found[range];
        }
        if (total > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
            throw std::length_error("There are more than 2147483647 different shingles. Compare fewer texts at once.");
        for (const Occurrence& own : occurrences)
            if (column_at[own.place] >= 0)
                column_at[own.place] += static_cast<int32_t>(offset[range_of(own.item) - first]);
        n_columns = total;
        first = end;
    }
    SharedColumns shared;
    shared.n_columns = n_columns;
    shared.indptr.assign(n_sets + 1, 0);
    for (size_t i = 0; i < n_sets; ++i) {
        // The items of a set ascend, and so do the numbers of their columns.
        for (int64_t at = indptr[i]; at < indptr[i + 1]; ++at)
            if (column_at[at] >= 0) shared.columns.push_back(column_at[at]);
        shared.indptr[i + 1] = static_cast<int64_t>(shared.columns.size());
    }
    return shared;
}

}  // namespace sthash
