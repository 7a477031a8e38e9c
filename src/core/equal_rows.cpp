#include "equal_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "keyed_hash.hpp"

namespace sthash {

namespace {

using Bytes = std::span<const std::byte>;

template <class Entry>
Bytes bytes_of(const Entry* entries, ptrdiff_t count) {
    return std::as_bytes(std::span(entries, static_cast<size_t>(count)));
}

bool equal(Bytes a, Bytes b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

uint64_t hash_of(Bytes bytes, uint64_t hash) {
    for (hash ^= bytes.size(); !bytes.empty(); bytes = bytes.subspan(std::min<size_t>(8, bytes.size()))) {
        uint64_t chunk = 0;
        std::memcpy(&chunk, bytes.data(), std::min<size_t>(8, bytes.size()));
        hash = folded_product(hash ^ chunk, kHashKey.factor);
    }
    return hash;
}

// parts_of(i) gives row i: two pieces of memory.
template <class PartsOf>
std::vector<int64_t> first_equal(size_t n_rows, int threads, StopFlag& stop, PartsOf&& parts_of) {
    std::vector<int64_t> first(n_rows);
    std::vector<uint64_t> hashes(n_rows);
    parallel_for(n_rows, 1024, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) {
            const std::array<Bytes, 2> parts = parts_of(row);
            hashes[row] = hash_of(parts[1], hash_of(parts[0], kHashKey.start));
        }
    });
    const size_t mask = std::bit_ceil(2 * n_rows + 1) - 1;
    std::vector<int64_t> slots(mask + 1, -1);
    for (size_t row = 0; row < n_rows && !stop.load(std::memory_order_relaxed); ++row) {
        for (size_t at = hashes[row] & mask;; at = (at + 1) & mask) {
            if (slots[at] < 0) slots[at] = static_cast<int64_t>(row);
            const auto known = static_cast<size_t>(slots[at]);
            if (hashes[known] == hashes[row] && std::ranges::equal(parts_of(known), parts_of(row), equal)) {
                first[row] = slots[at];
                break;
            }
        }
    }
    return first;
}

}  // namespace

std::vector<int64_t> first_equal_rows(const RowsView& rows, int threads, StopFlag& stop) {
    return first_equal(rows.n_rows, threads, stop, [&](size_t i) {
        const SparseRow row = rows.row(i);
        return std::array{bytes_of(row.indices, rows.dense ? 0 : row.size), bytes_of(row.values, row.size)};
    });
}

std::vector<int64_t> first_equal_sets(const int64_t* bounds, size_t n_sets, const uint64_t* items, int threads,
                                      StopFlag& stop) {
    return first_equal(n_sets, threads, stop, [&](size_t i) {
        return std::array{bytes_of(items + bounds[i], bounds[i + 1] - bounds[i]), Bytes{}};
    });
}

}  // namespace sthash
