#include "join/lists.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace sthash::join {

RankedRows rarest_first(const RowsView& rows, size_t n_columns, const std::vector<int64_t>& chosen,
                        const std::vector<uint8_t>& exclusive, int threads, StopFlag& stop) {
    std::vector<int32_t> frequency(n_columns, 0);
    const auto is_exclusive = [&](size_t i) { return !exclusive.empty() && exclusive[i] != 0; };
    const auto count = [&](bool of_exclusive) {
        for (size_t i = 0; i < chosen.size(); ++i) {
            if (is_exclusive(i) != of_exclusive) continue;
            const SparseRow row = rows.row(static_cast<size_t>(chosen[i]));
            for (ptrdiff_t at = 0; at < row.size; ++at)
                if (!of_exclusive || frequency[row.indices[at]] > 0) ++frequency[row.indices[at]];
        }
    };
    count(false);
    if (!exclusive.empty()) count(true);
    // Counted by their frequency, columns get their ranks without being sorted.
    std::vector<int32_t> rank(n_columns, -1);
    std::vector<size_t> next(chosen.size() + 3, 0);  // for each frequency, the first rank
    for (const int32_t rows_of : frequency) ++next[rows_of + 1];
    next[0] = next[1] = next[2] = 0;
    std::partial_sum(next.begin(), next.end(), next.begin());
    const size_t n_ranked = next.back();
    for (size_t column = 0; column < n_columns; ++column)
        if (frequency[column] > 1) rank[column] = static_cast<int32_t>(next[frequency[column]]++);

    RankedRows ranked;
    ranked.n_columns = n_ranked;
    ranked.indptr.assign(chosen.size() + 1, 0);
    ranked.shared_squares.resize(chosen.size());
    const auto is_shared = [&](const SparseRow& row, ptrdiff_t at) {
        return rank[row.indices[at]] >= 0 && row.values[at] != 0;
    };
    parallel_for(chosen.size(), 1024, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) {
            const SparseRow given = rows.row(static_cast<size_t>(chosen[i]));
            for (ptrdiff_t at = 0; at < given.size; ++at) ranked.indptr[i + 1] += is_shared(given, at);
        }
    });
    std::partial_sum(ranked.indptr.begin(), ranked.indptr.end(), ranked.indptr.begin());
    ranked.columns.resize(ranked.indptr.back());
    ranked.weights.resize(ranked.indptr.back());
    parallel_for(chosen.size(), 1024, threads, stop, [&](size_t begin, size_t end, int) {
        std::vector<uint64_t> row;  // rank and weight in one number, which is sorted faster than a pair
        for (size_t i = begin; i < end; ++i) {
            row.clear();
            double square = 0;
            const SparseRow given = rows.row(static_cast<size_t>(chosen[i]));
            for (ptrdiff_t at = 0; at < given.size; ++at) {
                if (!is_shared(given, at)) continue;
                row.push_back(uint64_t{static_cast<uint32_t>(rank[given.indices[at]])} << 32 |
                              std::bit_cast<uint32_t>(given.values[at]));
                square += double{given.values[at]} * given.values[at];
            }
            std::sort(row.begin(), row.end());
            for (size_t place = 0; place < row.size(); ++place) {
                ranked.columns[ranked.indptr[i] + static_cast<int64_t>(place)] = static_cast<int32_t>(row[place] >> 32);
                ranked.weights[ranked.indptr[i] + static_cast<int64_t>(place)] =
                    std::bit_cast<float>(static_cast<uint32_t>(row[place]));
            }
            ranked.shared_squares[i] = square;
        }
    });
    return ranked;
}

ColumnLists::ColumnLists(const RankedRows& rows, const int64_t* ends, const std::vector<uint8_t>& exclusive)
    : starts_(rows.n_columns + 1, 0) {
    for (size_t i = 0; i < rows.size(); ++i)
        for (int64_t at = rows.begin(i); at < ends[i]; ++at) ++starts_[rows.columns[at] + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    rows_.resize(starts_.back());
    middles_.assign(starts_.begin(), starts_.end() - 1);
    const auto put = [&](std::vector<int64_t>& next, bool of_exclusive) {
        for (size_t i = 0; i < rows.size(); ++i) {
            if ((!exclusive.empty() && exclusive[i] != 0) != of_exclusive) continue;
            for (int64_t at = rows.begin(i); at < ends[i]; ++at)
                rows_[next[rows.columns[at]]++] = static_cast<int32_t>(i);
        }
    };
    put(middles_, false);
    if (exclusive.empty()) return;
    std::vector<int64_t> next = middles_;
    put(next, true);
}

int64_t ColumnLists::longest_within(double looks, size_t first) const {
    size_t longest = 0;
    const auto n_columns = static_cast<int32_t>(middles_.size());
    for (int32_t column = 0; column < n_columns; ++column)
        longest = std::max(longest, static_cast<size_t>(length(column)));
    std::vector<double> work(longest + 1, 0);  // of all lists of a length
    const auto queries = [&](std::span<const int32_t> list) {
        return static_cast<double>(list.end() -
                                   std::lower_bound(list.begin(), list.end(), static_cast<int32_t>(first)));
    };
    for (int32_t column = 0; column < n_columns; ++column) {
        const auto list = of(column), others = exclusive_of(column);
        work[length(column)] +=
            queries(list) * (static_cast<double>(list.size()) / 2 + static_cast<double>(others.size()));
        if (!others.empty()) work[length(column)] += queries(others) * static_cast<double>(list.size());
    }
    for (size_t length = 0; length <= longest; ++length) {
        looks -= work[length];
        if (looks < 0) return static_cast<int64_t>(length) - 1;
    }
    return std::numeric_limits<int64_t>::max();
}

namespace {

// Of so many of the rarest columns with long lists that a row has, by so many hashes, so many rows next to it.
constexpr int kMostColumns = 2;
constexpr int kHashes = 2;
constexpr size_t kNeighbors = 8;

uint64_t mixed(uint64_t value) {  // splitmix64
    value += 0x9E3779B97F4A7C15ull;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ value >> 27) * 0x94D049BB133111EBull;
    return value ^ value >> 31;
}

uint64_t smallest_hash(const RankedRows& rows, size_t row, int hash) {
    uint64_t smallest = std::numeric_limits<uint64_t>::max();
    for (int64_t at = rows.begin(row); at < rows.end(row); ++at)
        smallest =
            std::min(smallest, mixed(static_cast<uint64_t>(rows.columns[at]) << 8 | static_cast<unsigned>(hash)));
    return smallest;
}

}  // namespace

AlikeRows::AlikeRows(const RankedRows& rows, const int64_t* prefix_ends, const ColumnLists& lists, int64_t longest,
                     size_t first_query, int threads, StopFlag& stop) {
    struct Entry {
        int32_t column;
        int32_t row;
        uint64_t hash;
    };
    std::vector<Entry> entries;
    for (size_t i = 0; i < rows.size(); ++i) {
        int taken = 0;
        for (int64_t at = rows.begin(i); at < prefix_ends[i] && taken < kMostColumns; ++at) {
            if (lists.length(rows.columns[at]) <= longest) continue;
            entries.push_back({rows.columns[at], static_cast<int32_t>(i), 0});
            ++taken;
        }
    }
    std::vector<std::pair<int32_t, int32_t>> pairs;  // the later row first
    for (int hash = 0; hash < kHashes && !stop.load(); ++hash) {
        parallel_for(entries.size(), 1024, threads, stop, [&](size_t begin, size_t end, int) {
            for (size_t at = begin; at < end; ++at) entries[at].hash = smallest_hash(rows, entries[at].row, hash);
        });
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
            if (a.column != b.column) return a.column < b.column;
            return a.hash != b.hash ? a.hash < b.hash : a.row < b.row;
        });
        for (size_t at = 0; at < entries.size(); ++at)
            for (size_t other = at + 1; other <= at + kNeighbors && other < entries.size(); ++other) {
                if (entries[other].column != entries[at].column) break;
                const auto [earlier, later] = std::minmax(entries[at].row, entries[other].row);
                if (static_cast<size_t>(later) >= first_query) pairs.emplace_back(later, earlier);
            }
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    starts_.assign(rows.size() + 1, 0);
    for (const auto& [later, earlier] : pairs) ++starts_[later + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    others_.reserve(pairs.size());
    for (const auto& [later, earlier] : pairs) others_.push_back(earlier);
}

}  // namespace sthash::join
