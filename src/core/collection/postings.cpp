#include "collection/postings.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace sthash {

namespace {

// Even 10,000 such weights, times the largest impact, are finite.
constexpr float kMostWeight = 1e30f;
constexpr const char* kMisplaced = "a document of put_counts comes before the end of the list";

[[noreturn]] void refuse_column(int64_t column, const std::string& why) {
    throw std::invalid_argument("The postings of column " + std::to_string(column) + " are malformed: " + why +
                                ". Restore them from a backup or build them again.");
}

// The list of a column, which must be held.
template <class Lists>
auto& list_of(Lists& lists, int32_t column) {
    const auto found = lists.find(column);
    if (found == lists.end())
        throw std::invalid_argument("The postings of column " + std::to_string(column) +
                                    " are not in memory. Put them there first.");
    return found->second;
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
    if (ids.size() > std::numeric_limits<int32_t>::max()) throw std::invalid_argument("These are too many documents.");
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
    PostingList list;
    int64_t last = -1;
    size_t hint = 0;
    for (const std::span<const uint8_t> part : parts) try {
            PairReader reader(part.data(), part.data() + part.size(), std::numeric_limits<int64_t>::max());
            while (reader.next()) {
                if (reader.number <= last) throw std::invalid_argument("ids do not ascend from part to part");
                last = reader.number;
                const int64_t position = position_of(reader.number, hint);
                if (position >= 0) list.append(static_cast<int32_t>(position), reader.count);
            }
        } catch (const std::invalid_argument& error) {
            refuse_column(column, error.what());
        }
    const std::unique_lock lock(mutex_);
    if (lists_.contains(column)) return;
    if (const auto added = added_.find(column); added != added_.end()) {
        for (const Added& posting : added->second)
            if (!list.append(posting.position, posting.count)) refuse_column(column, kMisplaced);
        added_.erase(added);
    }
    list.close();
    lists_.emplace(column, std::move(list));
}

void PostingLists::put_counts(const CountsView& rows, const int64_t* ids) {
    rows.check(std::numeric_limits<int64_t>::max());
    check_ids({ids, rows.n_rows});
    const std::unique_lock lock(mutex_);
    // Calls visit(column, position, count) for each posting. A first round only checks, so that nothing is half done.
    const auto each = [&](auto&& visit) {
        size_t hint = 0;
        for (size_t row = 0; row < rows.n_rows; ++row) {
            const int64_t position = position_of(ids[row], hint);
            for (int64_t at = rows.indptr[row]; position >= 0 && at < rows.indptr[row + 1]; ++at)
                visit(rows.columns[at], static_cast<int32_t>(position), rows.counts[at]);
        }
    };
    each([&](int32_t column, int32_t position, int32_t) {
        const auto held = lists_.find(column);
        const auto added = added_.find(column);
        if ((held != lists_.end() && held->second.last() >= position) ||
            (added != added_.end() && added->second.back().position >= position))
            refuse_column(column, kMisplaced);
    });
    std::vector<PostingList*> changed;
    each([&](int32_t column, int32_t position, int32_t count) {
        if (const auto held = lists_.find(column); held != lists_.end()) {
            held->second.append(position, count);
            changed.push_back(&held->second);
        } else {
            added_[column].push_back({position, count});
        }
    });
    for (PostingList* list : changed) list->close();
}

bool PostingLists::holds(int32_t column) const {
    const std::shared_lock lock(mutex_);
    return lists_.contains(column);
}

std::vector<int32_t> PostingLists::positions(int32_t column) const {
    const std::shared_lock lock(mutex_);
    return list_of(lists_, column).positions();
}

size_t PostingLists::document_frequency(int32_t column) const {
    const std::shared_lock lock(mutex_);
    return list_of(lists_, column).size();
}

size_t PostingLists::nbytes() const {
    const std::shared_lock lock(mutex_);
    size_t bytes = ids_.size() * (sizeof(int64_t) + sizeof(int32_t));
    for (const auto& [column, list] : lists_) bytes += list.nbytes();
    for (const auto& [column, postings] : added_) bytes += postings.capacity() * sizeof(Added);
    return bytes;
}

// The terms of one query, each once, by falling weight, then by ascending column. Those without weight are left out.
std::vector<QueryTerm> PostingLists::terms_of(const QueriesView& queries, size_t query) {
    struct Weighted {
        int32_t column;
        float weight;
    };
    const int64_t begin = queries.indptr[query], end = queries.indptr[query + 1];
    if (begin < 0 || begin > end || end > static_cast<int64_t>(queries.size))
        throw std::invalid_argument("The columns of query " + std::to_string(query) + " are out of range.");
    std::vector<Weighted> weighted;
    for (int64_t at = begin; at < end; ++at) {
        const float weight = queries.weights[at];
        if (!(weight >= 0 && weight <= kMostWeight))
            throw std::invalid_argument("Query " + std::to_string(query) + " has the weight " + std::to_string(weight) +
                                        ". Weights must be between 0 and 1e30.");
        weighted.push_back({queries.columns[at], weight});
    }
    std::stable_sort(weighted.begin(), weighted.end(), [](auto& a, auto& b) { return a.column < b.column; });
    size_t kept = 0;
    for (const Weighted& term : weighted) {
        if (kept > 0 && weighted[kept - 1].column == term.column)
            weighted[kept - 1].weight += term.weight;
        else
            weighted[kept++] = term;
    }
    weighted.resize(kept);
    std::stable_sort(weighted.begin(), weighted.end(), [](auto& a, auto& b) { return a.weight > b.weight; });
    std::vector<QueryTerm> terms;
    for (const Weighted& term : weighted) {
        PostingList& list = list_of(lists_, term.column);
        if (term.weight > 0 && list.size() > 0) terms.push_back({&list, term.weight});
    }
    return terms;
}

BestDocuments PostingLists::search(const QueriesView& queries, const Bm25& scoring, size_t k, const uint8_t* allowed,
                                   int threads, StopFlag& stop) {
    if (!(scoring.k1 >= 0 && scoring.k1 <= 1000 && scoring.b >= 0 && scoring.b <= 1))
        throw std::invalid_argument("BM25 needs k1 between 0 and 1000, and b between 0 and 1.");
    const double mean = scoring.mean_length;
    if (!(mean == 0 || (mean >= 1e-10 && mean <= std::numeric_limits<int32_t>::max())))
        throw std::invalid_argument("The mean length must be 0, or between 1e-10 and 2147483647.");
    std::vector<std::vector<QueryTerm>> terms(queries.count);
    const auto gather = [&] {  // whether all lists are prepared
        bool prepared = true;
        for (size_t query = 0; query < queries.count; ++query) {
            terms[query] = terms_of(queries, query);
            for (const QueryTerm& term : terms[query]) prepared = prepared && term.list->prepared(scoring);
        }
        return prepared;
    };
    // Lists are prepared by one thread at a time, and searched by many. Should another thread prepare them for other
    // parameters in between, the second round keeps all others away.
    for (int round = 1;; ++round) {
        {
            const std::shared_lock lock(mutex_);
            if (gather()) return search_prepared(terms, k, allowed, threads, stop);
        }
        const std::unique_lock lock(mutex_);
        if (!gather())
            for (const std::vector<QueryTerm>& of_query : terms)
                for (const QueryTerm& term : of_query)
                    if (!term.list->prepared(scoring)) term.list->prepare(scoring, lengths_);
        if (round == 2) return search_prepared(terms, k, allowed, threads, stop);
    }
}

BestDocuments PostingLists::search_prepared(const std::vector<std::vector<QueryTerm>>& terms, size_t k,
                                            const uint8_t* allowed, int threads, StopFlag& stop) const {
    BestDocuments best{std::vector<int64_t>(terms.size() * k, -1), std::vector<float>(terms.size() * k)};
    // Queries with the same longest list come one after the other: they find it in the cache.
    std::vector<size_t> order(terms.size());
    std::iota(order.begin(), order.end(), 0);
    const auto longest = [&](size_t query) -> const PostingList* {
        const auto size = [](const QueryTerm& term) { return term.list->size(); };
        const auto found = std::ranges::max_element(terms[query], {}, size);
        return found == terms[query].end() ? nullptr : found->list;
    };
    std::vector<const PostingList*> keys;
    for (size_t query = 0; query < terms.size(); ++query) keys.push_back(longest(query));
    std::ranges::stable_sort(order, std::less<>(), [&](size_t query) { return keys[query]; });
    constexpr size_t together = 8;
    parallel_for(terms.size(), together, threads, stop, [&](size_t begin, size_t end, int) {
        // Kept for the next search: to make one takes as long as to search a short list.
        thread_local PostingSearcher searcher;
        for (size_t at = begin; at < end; ++at) {
            const size_t query = order[at];
            searcher.search(terms[query], ids_.size(), k, allowed, best.positions.data() + query * k,
                            best.scores.data() + query * k);
        }
    });
    return best;
}

}  // namespace sthash
