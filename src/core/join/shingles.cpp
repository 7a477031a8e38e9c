#include "join/shingles.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "keyed_hash.hpp"

namespace sthash::join {

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

Sets shingle_sets(const text::WordsView& texts, const uint64_t* hashes, size_t size, int threads, StopFlag& stop) {
    constexpr size_t kGrain = 256;
    std::vector<std::vector<uint64_t>> pieces((texts.n_texts + kGrain - 1) / kGrain);
    Sets sets;
    sets.indptr.assign(texts.n_texts + 1, 0);
    parallel_for(texts.n_texts, kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        std::vector<uint64_t>& piece = pieces[begin / kGrain];
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

// Items are handled by ranges of their hashes, so many occurrences per range that a table of them stays in the cache,
// and some ranges at a time: memory for this many occurrences is enough.
constexpr size_t kInRange = size_t{1} << 13;
constexpr size_t kAtOnce = size_t{1} << 24;
constexpr int kMostRangeBits = 16;

// The items of a range that have been met: where first, and which column they have since they were met again.
class RangeTable {
 public:
    // Writes the columns of the items that occur more than once to column_at, and returns how many columns there are.
    // Columns are numbered in the order in which the items come back.
    int32_t number(const Occurrence* begin, const Occurrence* end, int32_t* column_at) {
        const size_t mask = std::bit_ceil(2 * static_cast<size_t>(end - begin) + 1) - 1;
        slots_.assign(mask + 1, {0, -1, -1});
        int32_t n_columns = 0;
        for (; begin != end; ++begin) {
            // Keyed, so that nobody can choose items that collide.
            size_t at = folded_product(begin->item ^ kHashKey.start, kHashKey.factor) & mask;
            while (slots_[at].first >= 0 && slots_[at].item != begin->item) at = (at + 1) & mask;
            Slot& slot = slots_[at];
            if (slot.first < 0) {
                slot.item = begin->item;
                slot.first = begin->place;
                continue;
            }
            if (slot.column < 0) column_at[slot.first] = slot.column = n_columns++;
            column_at[begin->place] = slot.column;
        }
        return n_columns;
    }

 private:
    struct Slot {
        uint64_t item;
        int64_t first;
        int32_t column;
    };
    std::vector<Slot> slots_;
};

}  // namespace

SharedColumns shared_columns(const int64_t* indptr, size_t n_sets, const uint64_t* items, int threads, StopFlag& stop) {
    const auto size = static_cast<size_t>(indptr[n_sets]);
    const int range_bits = std::clamp(static_cast<int>(std::bit_width(size / kInRange)), 1, kMostRangeBits);
    const size_t n_ranges = size_t{1} << range_bits;
    const auto range_of = [&](uint64_t item) { return static_cast<size_t>(item >> (64 - range_bits)); };
    // Each thread counts the items of its own slice, and moves them to their ranges behind those of earlier slices.
    const auto n_slices = static_cast<size_t>(std::max(threads, 1));
    const size_t slice_size = size / n_slices + 1;
    std::vector<std::vector<size_t>> counts(n_slices, std::vector<size_t>(n_ranges, 0));
    const auto for_each_item = [&](auto&& body) {
        parallel_for(n_slices, 1, threads, stop, [&](size_t slice, size_t, int) {
            const size_t end = std::min(size, (slice + 1) * slice_size);
            for (size_t at = slice * slice_size; at < end; ++at) body(slice, range_of(items[at]), at);
        });
    };
    for_each_item([&](size_t slice, size_t range, size_t) { ++counts[slice][range]; });

    std::vector<int32_t> column_at(size, -1);
    std::vector<int32_t> n_found(n_ranges, 0);
    std::vector<RangeTable> tables(n_slices);
    for (size_t first = 0; first < n_ranges && !stop.load();) {
        std::vector<size_t> starts{0};
        std::vector<std::vector<size_t>> next(n_slices);
        size_t end = first;
        for (; end < n_ranges; ++end) {
            size_t in_this = 0;
            for (size_t slice = 0; slice < n_slices; ++slice) in_this += counts[slice][end];
            if (end != first && starts.back() + in_this > kAtOnce) break;
            size_t at = starts.back();
            for (size_t slice = 0; slice < n_slices; ++slice) {
                next[slice].push_back(at);
                at += counts[slice][end];
            }
            starts.push_back(at);
        }
        std::vector<Occurrence> occurrences(starts.back());
        for_each_item([&](size_t slice, size_t range, size_t at) {
            if (range >= first && range < end)
                occurrences[next[slice][range - first]++] = {items[at], static_cast<int64_t>(at)};
        });
        parallel_for(end - first, 4, threads, stop, [&](size_t from, size_t to, int thread) {
            for (size_t range = from; range < to; ++range)
                n_found[first + range] = tables[thread].number(
                    occurrences.data() + starts[range], occurrences.data() + starts[range + 1], column_at.data());
        });
        first = end;
    }
    std::vector<int32_t> first_column(n_ranges, 0);
    SharedColumns shared;
    for (size_t range = 0; range < n_ranges; ++range) {
        first_column[range] = static_cast<int32_t>(shared.n_columns);
        shared.n_columns += static_cast<size_t>(n_found[range]);
        if (shared.n_columns > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
            throw std::length_error("There are more than 2147483647 different shingles. Compare fewer texts at once.");
    }
    constexpr size_t kGrain = 4096;
    shared.indptr.assign(n_sets + 1, 0);
    parallel_for(n_sets, kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i)
            for (int64_t at = indptr[i]; at < indptr[i + 1]; ++at) shared.indptr[i + 1] += column_at[at] >= 0;
    });
    std::partial_sum(shared.indptr.begin(), shared.indptr.end(), shared.indptr.begin());
    shared.columns.resize(shared.indptr.back());
    parallel_for(n_sets, kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        int32_t* out = shared.columns.data() + shared.indptr[begin];
        for (int64_t at = indptr[begin]; at < indptr[end]; ++at)
            if (column_at[at] >= 0) *out++ = column_at[at] + first_column[range_of(items[at])];
    });
    return shared;
}

}  // namespace sthash::join
