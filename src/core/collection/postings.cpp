#include "collection/postings.hpp"

#include <cmath>

namespace sthash {

namespace {

[[noreturn]] void refuse_column(int64_t column, const std::string& why) {
    throw std::invalid_argument("The postings of column " + std::to_string(column) + " are malformed: " + why +
                                ". Restore them from a backup or build them again.");
}

void check_ids(std::span<const int64_t> ids) {
    int64_t last = -1;
    for (int64_t id : ids) {
        if (id <= last) throw std::invalid_argument("Ids must ascend from 0 on. Sort them and take each once.");
        last = id;
    }
}

}  // namespace

PackedPostings pack_postings(const CountsView& rows, const int64_t* ids, int64_t n_columns, int threads,
                             StopFlag& stop) {
    rows.check(n_columns);
    check_ids({ids, rows.n_rows});
    // How many postings each column has; then which columns each thread takes, so that all have as many postings.
    int32_t most = -1;
    for (size_t row = 0; row < rows.n_rows; ++row)
        if (rows.indptr[row] < rows.indptr[row + 1]) most = std::max(most, rows.columns[rows.indptr[row + 1] - 1]);
    const auto width = static_cast<size_t>(most + 1);
    std::vector<int64_t> frequency(width), sizes(width);
    const int64_t first = rows.indptr[0], last = rows.indptr[rows.n_rows];
    for (int64_t at = first; at < last; ++at) ++frequency[static_cast<size_t>(rows.columns[at])];
    const auto shares = static_cast<size_t>(std::clamp(threads, 1, 256));
    std::vector<int32_t> bounds{0};
    int64_t postings = 0;
    for (size_t column = 0; column < width; ++column) {
        postings += frequency[column];
        if (postings * static_cast<int64_t>(shares) >= (last - first) * static_cast<int64_t>(bounds.size()))
            bounds.push_back(static_cast<int32_t>(column) + 1);
    }
    if (bounds.back() < most + 1) bounds.push_back(most + 1);

    // Calls write(writer of the column, id, count) for all postings, by ascending id.
    const auto walk = [&](auto&& start) {
        parallel_for(bounds.size() - 1, 1, threads, stop, [&](size_t share, size_t, int) {
            const int32_t low = bounds[share], high = bounds[share + 1];
            std::vector<PairWriter> writers;
            for (int32_t column = low; column < high; ++column) writers.push_back(start(static_cast<size_t>(column)));
            for (size_t row = 0; row < rows.n_rows; ++row) {
                const int32_t *begin = rows.columns + rows.indptr[row], *end = rows.columns + rows.indptr[row + 1];
                for (const int32_t* at = low > 0 ? std::lower_bound(begin, end, low) : begin; at < end && *at < high;
                     ++at)
                    writers[static_cast<size_t>(*at - low)].write(ids[row], rows.counts[at - rows.columns]);
            }
            for (int32_t column = low; column < high; ++column)
                sizes[static_cast<size_t>(column)] =
                    static_cast<int64_t>(writers[static_cast<size_t>(column - low)].size());
        });
    };
    walk([](size_t) { return PairWriter(nullptr); });
    std::vector<int64_t> starts(width + 1);
    PackedPostings packed;
    for (size_t column = 0; column < width; ++column) {
        starts[column + 1] = starts[column] + sizes[column];
        if (frequency[column] == 0) continue;
        packed.columns.push_back(static_cast<int32_t>(column));
        packed.lists.offsets.push_back(starts[column]);
    }
    packed.lists.offsets.push_back(starts[width]);
    packed.lists.content.resize(static_cast<size_t>(starts[width]));
    walk([&](size_t column) { return PairWriter(packed.lists.content.data() + starts[column]); });
    return packed;
}

PostingLists::PostingLists(std::span<const int64_t> ids, std::span<const int32_t> lengths)
    : ids_(ids.begin(), ids.end()), lengths_(lengths.begin(), lengths.end()) {
    check_ids(ids);
    if (ids.size() != lengths.size()) throw std::invalid_argument("Give one length per id.");
    for (int32_t length : lengths)
        if (length < 0) throw std::invalid_argument("Lengths must not be negative. Count the words again.");
}

// The position of an id, or -1 if it is not live. Ids must come in ascending order, with the same `hint`.
int64_t PostingLists::position_of(int64_t id, size_t& hint) const {
    // Live ids are distinct, so this id is at most as far from the last one as the ids are from each other. Few ids
    // are missing as a rule, so it is looked for from there to the left, in steps that double.
    if (hint >= ids_.size()) return -1;
    if (id < ids_[hint]) return -1;
    const auto gap = static_cast<uint64_t>(id - ids_[hint]);
    size_t high = gap < ids_.size() - hint ? hint + gap : ids_.size() - 1, low = high;
    for (size_t step = 1; ids_[low] > id; step *= 2) {
        high = low;
        low = low - hint > step ? low - step : hint;
    }
    const auto begin = ids_.begin();
    const auto found = ids_[low] == id ? begin + static_cast<ptrdiff_t>(low)
                                       : std::lower_bound(begin + static_cast<ptrdiff_t>(low),
                                                          begin + static_cast<ptrdiff_t>(high) + 1, id);
    if (found == ids_.end()) {
        hint = ids_.size();
        return -1;
    }
    hint = static_cast<size_t>(found - begin);
    return *found == id ? found - begin : -1;
}

void PostingLists::put(int32_t column, const std::vector<std::span<const uint8_t>>& parts) {
    if (column < 0) throw std::invalid_argument("Columns are numbered from 0 on.");
    if (holds(column)) return;
    List list;
    int64_t last = -1;
    size_t hint = 0;
    for (const std::span<const uint8_t> part : parts) try {
            PairReader reader(part.data(), part.data() + part.size(), std::numeric_limits<int64_t>::max());
            while (reader.next()) {
                if (reader.number <= last) throw std::invalid_argument("ids do not ascend from part to part");
                last = reader.number;
                const int64_t position = position_of(reader.number, hint);
                if (position < 0) continue;
                list.positions.push_back(static_cast<int32_t>(position));
                list.counts.push_back(reader.count);
            }
        } catch (const std::invalid_argument& error) {
            refuse_column(column, error.what());
        }
    const std::unique_lock lock(mutex_);
    if (const auto added = added_.find(column); added != added_.end()) {
        if (!list.positions.empty() && list.positions.back() >= added->second.positions.front())
            refuse_column(column, "documents of put_counts come before the end of the list");
        list.positions.insert(list.positions.end(), added->second.positions.begin(), added->second.positions.end());
        list.counts.insert(list.counts.end(), added->second.counts.begin(), added->second.counts.end());
    }
    if (lists_.try_emplace(column, std::move(list)).second) added_.erase(column);
}

void PostingLists::put_counts(const CountsView& rows, const int64_t* ids) {
    rows.check(std::numeric_limits<int64_t>::max());
    check_ids({ids, rows.n_rows});
    const std::unique_lock lock(mutex_);
    size_t hint = 0;
    const auto each = [&](auto&& visit) {
        hint = 0;
        for (size_t row = 0; row < rows.n_rows; ++row) {
            const int64_t position = position_of(ids[row], hint);
            if (position < 0) continue;
            for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) {
                const auto held = lists_.find(rows.columns[at]);
                visit(held != lists_.end() ? held->second : added_[rows.columns[at]], rows.columns[at],
                      static_cast<int32_t>(position), rows.counts[at]);
            }
        }
    };
    each([](List& list, int32_t column, int32_t position, int32_t) {
        if (!list.positions.empty() && list.positions.back() >= position)
            refuse_column(column, "documents of put_counts come before the end of the list");
    });
    each([](List& list, int32_t, int32_t position, int32_t count) {
        list.positions.push_back(position);
        list.counts.push_back(count);
    });
}

const PostingLists::List& PostingLists::list_of(int32_t column) const {
    const auto found = lists_.find(column);
    if (found == lists_.end())
        throw std::invalid_argument("The postings of column " + std::to_string(column) +
                                    " are not in memory. Put them there first.");
    return found->second;
}

bool PostingLists::holds(int32_t column) const {
    const std::shared_lock lock(mutex_);
    return lists_.contains(column);
}

std::vector<int32_t> PostingLists::positions(int32_t column) const {
    const std::shared_lock lock(mutex_);
    return list_of(column).positions;
}

size_t PostingLists::document_frequency(int32_t column) const {
    const std::shared_lock lock(mutex_);
    return list_of(column).positions.size();
}

size_t PostingLists::nbytes() const {
    const std::shared_lock lock(mutex_);
    size_t bytes = ids_.size() * (sizeof(int64_t) + sizeof(int32_t));
    for (const auto& [column, list] : lists_) bytes += sizeof(List) + 8 * list.positions.size();
    return bytes;
}

BestDocuments PostingLists::search(const QueriesView& queries, const Bm25& scoring, size_t k, const uint8_t* allowed,
                                   int threads, StopFlag& stop) const {
    const std::shared_lock lock(mutex_);
    BestDocuments best{std::vector<int64_t>(queries.count * k, -1), std::vector<float>(queries.count * k)};
    const double spread = scoring.mean_length > 0 ? scoring.k1 * scoring.b / scoring.mean_length : 0;
    parallel_for(queries.count, 1, threads, stop, [&](size_t query, size_t, int) {
        std::vector<std::pair<int32_t, float>> terms;
        for (int64_t at = queries.indptr[query]; at < queries.indptr[query + 1]; ++at)
            terms.emplace_back(queries.columns[at], queries.weights[at]);
        std::stable_sort(terms.begin(), terms.end(), [](auto& a, auto& b) { return a.first < b.first; });
        std::vector<std::pair<int32_t, float>> merged;
        for (const auto& term : terms) {
            if (!std::isfinite(term.second) || term.second < 0)
                throw std::invalid_argument("Weights must be finite and not negative.");
            if (!merged.empty() && merged.back().first == term.first)
                merged.back().second += term.second;
            else
                merged.push_back(term);
        }
        std::stable_sort(merged.begin(), merged.end(), [](auto& a, auto& b) { return a.second > b.second; });
        std::vector<float> scores(ids_.size());
        for (const auto& [column, weight] : merged) {
            const List& list = list_of(column);
            for (size_t i = 0; i < list.positions.size(); ++i) {
                const double count = list.counts[i];
                const int32_t length = lengths_[static_cast<size_t>(list.positions[i])];
                const double norm = scoring.k1 * (1 - scoring.b) + spread * length;
                scores[static_cast<size_t>(list.positions[i])] +=
                    weight * static_cast<float>(count * (scoring.k1 + 1) / (count + norm));
            }
        }
        std::vector<std::pair<float, int32_t>> hits;
        for (size_t i = 0; i < scores.size(); ++i)
            if (scores[i] > 0 && (allowed == nullptr || allowed[i] != 0))
                hits.emplace_back(-scores[i], static_cast<int32_t>(i));
        std::sort(hits.begin(), hits.end());
        for (size_t i = 0; i < std::min(k, hits.size()); ++i) {
            best.positions[query * k + i] = hits[i].second;
            best.scores[query * k + i] = -hits[i].first;
        }
    });
    return best;
}

}  // namespace sthash
