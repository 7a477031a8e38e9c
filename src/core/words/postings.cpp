#include "words/postings.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace sthash::words {

namespace {

// Even 10,000 such weights, times the largest impact, are finite.
constexpr float kMostWeight = 1e30f;
// So many documents are taken out of a list one by one; for more, it is made anew.
constexpr size_t kFewRemoved = 64;
constexpr size_t kMostDocuments = std::numeric_limits<int32_t>::max();
constexpr const char* kMisplaced = "a document of put_counts comes before the end of the list";

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
    if (last == std::numeric_limits<int64_t>::max())
        throw std::invalid_argument("Ids must be below 2^63 - 1. Use smaller ones.");
}

void check_documents(std::span<const int64_t> ids, std::span<const int32_t> lengths, size_t before) {
    check_ids(ids);
    if (ids.size() > kMostDocuments - before)
        throw std::invalid_argument("These are too many documents. Split them over several indexes.");
    if (ids.size() != lengths.size()) throw std::invalid_argument("Give one length per id.");
    for (int32_t length : lengths)
        if (length < 0) throw std::invalid_argument("Lengths must not be negative. Count the words again.");
}

// So many columns are counted one by one, whether they are used or not.
constexpr int64_t kDenseColumns = 1 << 24;

// The different ones of some columns, ascending, and the place of each among them.
class ColumnTable {
 public:
    explicit ColumnTable(std::span<const int32_t> columns) : slots_(1024, kFree) {
        for (int32_t column : columns) {
            if (int32_t& slot = slots_[place(column)]; slot == kFree) {
                slot = column;
                columns_.push_back(column);
                if (2 * columns_.size() > slots_.size()) grow();
            }
        }
        std::sort(columns_.begin(), columns_.end());
        numbers_.resize(slots_.size());
        for (size_t i = 0; i < columns_.size(); ++i) numbers_[place(columns_[i])] = static_cast<int32_t>(i);
    }

    const std::vector<int32_t>& columns() const { return columns_; }
    int32_t number(int32_t column) const { return numbers_[place(column)]; }

 private:
    static constexpr int32_t kFree = -1;

    size_t place(int32_t column) const {
        size_t at = (static_cast<uint32_t>(column) * uint64_t{0x9E3779B97F4A7C15} >> 32) & (slots_.size() - 1);
        while (slots_[at] != kFree && slots_[at] != column) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void grow() {
        slots_.assign(2 * slots_.size(), kFree);
        for (int32_t column : columns_) slots_[place(column)] = column;
    }

    std::vector<int32_t> slots_, numbers_, columns_;
};

}  // namespace

PackedPostings pack_postings(const CountsView& rows, const int64_t* ids, int64_t n_columns, int threads,
                             StopFlag& stop) {
    rows.check(n_columns);
    check_ids({ids, rows.n_rows});
    const auto size = static_cast<size_t>(rows.indptr[rows.n_rows]);
    if (n_columns > kDenseColumns && n_columns / 4 > static_cast<int64_t>(size)) {
        // Columns that are far apart are numbered, in their order.
        const ColumnTable table({rows.columns, size});
        std::vector<int32_t> numbers(size);
        parallel_for(size, 1 << 16, threads, stop, [&](size_t begin, size_t end, int) {
            for (size_t at = begin; at < end; ++at) numbers[at] = table.number(rows.columns[at]);
        });
        if (stop.load()) return {};
        CountsView numbered = rows;
        numbered.columns = numbers.data();
        PackedPostings packed =
            pack_postings(numbered, ids, static_cast<int64_t>(table.columns().size()), threads, stop);
        for (int32_t& column : packed.columns) column = table.columns()[static_cast<size_t>(column)];
        return packed;
    }
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

PostingLists::PostingLists(std::span<const int64_t> ids, std::span<const int32_t> lengths) {
    check_documents(ids, lengths, 0);
    ids_.assign(ids.begin(), ids.end());
    lengths_.assign(lengths.begin(), lengths.end());
    dead_.resize(ids.size());
    if (!ids.empty()) last_id_ = ids.back();
    n_words_ = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    extend_runs(0);
}

void PostingLists::Packed::append(int64_t id, int32_t count) {
    uint8_t pair[PairWriter::kMostBytes];
    PairWriter writer(pair, last);
    writer.write(id, count);
    content.insert(content.end(), pair, pair + writer.size());
    last = id;
}

// Takes note of the documents from a position on.
void PostingLists::extend_runs(size_t from) {
    for (size_t position = from; position < ids_.size(); ++position)
        if (position == 0 || ids_[position] != ids_[position - 1] + 1)
            runs_.push_back({ids_[position], static_cast<int64_t>(position)});
}

// The position of an id, or -1 if no document has it. Ids must come in ascending order, with the same `hint`.
int64_t PostingLists::position_of(int64_t id, size_t& hint) const {
    // Ids are distinct, and few are missing as a rule. So there are few runs, and they stay in the cache.
    if (hint + 1 < runs_.size() && id >= runs_[hint + 1].id) {
        size_t low = hint + 1, high = low + 1;  // the run is in [low, high)
        for (size_t step = 1; high < runs_.size() && id >= runs_[high].id; step *= 2) {
            low = high;
            high = std::min(low + step, runs_.size());
        }
        const auto begin = runs_.begin();
        hint = static_cast<size_t>(std::ranges::upper_bound(begin + static_cast<ptrdiff_t>(low),
                                                            begin + static_cast<ptrdiff_t>(high), id, {}, &IdRun::id) -
                                   begin) -
               1;
    }
    if (hint >= runs_.size() || id < runs_[hint].id) return -1;
    const int64_t end = hint + 1 < runs_.size() ? runs_[hint + 1].position : static_cast<int64_t>(ids_.size());
    const int64_t offset = id - runs_[hint].id;
    return offset < end - runs_[hint].position ? runs_[hint].position + offset : -1;
}

// The list of a column that is not held, from its parts and what is packed here.
PostingList PostingLists::decoded(int32_t column, std::vector<std::span<const uint8_t>> parts) const {
    if (const auto own = packed_.find(column); own != packed_.end()) parts.push_back(own->second.content);
    PostingList list;
    size_t bytes = 0;  // at least one per posting
    for (const std::span<const uint8_t> part : parts) bytes += part.size();
    PostingList::Writer writer(list, std::min(bytes, ids_.size()));
    int64_t last = -1;
    size_t hint = 0;
    for (const std::span<const uint8_t> part : parts) try {
            PairReader reader(part.data(), part.data() + part.size(), std::numeric_limits<int64_t>::max());
            while (reader.next()) {
                if (reader.number <= last) throw std::invalid_argument("ids do not ascend from part to part");
                last = reader.number;
                const int64_t position = position_of(reader.number, hint);
                if (position >= 0 && dead_[static_cast<size_t>(position)] == 0)
                    writer.write(static_cast<uint32_t>(position), reader.count);
            }
        } catch (const std::invalid_argument& error) {
            refuse_column(column, error.what());
        }
    writer.finish();
    return list;
}

void PostingLists::put(int32_t column, const std::vector<std::span<const uint8_t>>& parts) {
    if (column < 0) throw std::invalid_argument("Columns are numbered from 0 on.");
    PostingList list;
    uint64_t seen = 0;
    {  // A long list must not keep others from searching.
        const std::shared_lock lock(mutex_);
        if (lists_.contains(column)) return;
        list = decoded(column, parts);
        seen = changes_;
    }
    const std::unique_lock lock(mutex_);
    if (lists_.contains(column)) return;
    if (changes_ != seen) list = decoded(column, parts);
    lists_.try_emplace(column, std::move(list), removed_.size())
        .first->second.used.store(clock_.fetch_add(1) + 1, std::memory_order_relaxed);
    packed_.erase(column);
}

void PostingLists::load(const PackedPostingsView& lists) {
    std::unordered_map<int32_t, Packed> loaded;
    const std::unique_lock lock(mutex_);
    for (size_t i = 0; i < lists.lists.n_rows; ++i) {
        const int32_t column = lists.columns[i];
        const int64_t begin = lists.lists.offsets[i], end = lists.lists.offsets[i + 1];
        if (column < 0) throw std::invalid_argument("Columns are numbered from 0 on.");
        if (lists_.contains(column) || packed_.contains(column) || loaded.contains(column))
            refuse_column(column, "they are here already");
        if (begin < 0 || begin > end || end > static_cast<int64_t>(lists.lists.size))
            refuse_column(column, "their offsets are out of range");
        Packed packed;
        packed.content.assign(lists.lists.content + begin, lists.lists.content + end);
        // An id behind the last one would become that of a document to come.
        try {
            PairReader reader(packed.content.data(), packed.content.data() + packed.content.size(), last_id_ + 1);
            while (reader.next()) packed.last = reader.number;
        } catch (const std::invalid_argument& error) {
            refuse_column(column, error.what());
        }
        if (!packed.content.empty()) loaded.emplace(column, std::move(packed));
    }
    packed_.merge(loaded);
    ++changes_;
}

// Appends rows to the lists of their columns. Row i belongs to the document at positions[i]; -1 leaves it out.
void PostingLists::append(const CountsView& rows, std::span<const int64_t> positions) {
    std::vector<PostingList*> changed;
    for (size_t row = 0; row < rows.n_rows; ++row) {
        if (positions[row] < 0) continue;
        const auto position = static_cast<size_t>(positions[row]);
        for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) {
            const int32_t column = rows.columns[at], count = rows.counts[at];
            if (const auto held = lists_.find(column); held != lists_.end()) {
                held->second.list.append(static_cast<int32_t>(position), count);
                changed.push_back(&held->second.list);
            } else {
                packed_[column].append(ids_[position], count);
            }
        }
    }
    for (PostingList* list : changed) list->close();
    ++changes_;
}

void PostingLists::put_counts(const CountsView& rows, const int64_t* ids) {
    rows.check(std::numeric_limits<int64_t>::max());
    check_ids({ids, rows.n_rows});
    const std::unique_lock lock(mutex_);
    std::vector<int64_t> positions(rows.n_rows);
    size_t hint = 0;
    for (size_t row = 0; row < rows.n_rows; ++row) {
        positions[row] = position_of(ids[row], hint);
        if (positions[row] < 0) continue;
        if (dead_[static_cast<size_t>(positions[row])] != 0) positions[row] = -1;
        // All is checked first, so that nothing is half done.
        for (int64_t at = rows.indptr[row]; positions[row] >= 0 && at < rows.indptr[row + 1]; ++at) {
            const auto held = lists_.find(rows.columns[at]);
            const auto packed = packed_.find(rows.columns[at]);
            if ((held != lists_.end() && held->second.list.last() >= positions[row]) ||
                (packed != packed_.end() && packed->second.last >= ids[row]))
                refuse_column(rows.columns[at], kMisplaced);
        }
    }
    append(rows, positions);
}

void PostingLists::add(const CountsView& rows, std::span<const int64_t> ids, std::span<const int32_t> lengths) {
    rows.check(std::numeric_limits<int64_t>::max());
    const std::unique_lock lock(mutex_);
    check_documents(ids, lengths, ids_.size());
    if (ids.empty()) return;
    if (ids.front() <= last_id_)
        throw std::invalid_argument("Id " + std::to_string(ids.front()) +
                                    " is not greater than all before, which end at " + std::to_string(last_id_) +
                                    ". Use greater ids.");
    std::vector<int64_t> positions(ids.size());
    std::iota(positions.begin(), positions.end(), static_cast<int64_t>(ids_.size()));
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
    dead_.resize(ids_.size());
    last_id_ = ids.back();
    n_words_ = std::accumulate(lengths.begin(), lengths.end(), n_words_);
    extend_runs(ids_.size() - ids.size());
    append(rows, positions);
}

void PostingLists::remove(std::span<const int32_t> positions) {
    const std::unique_lock lock(mutex_);
    std::vector<int32_t> sorted(positions.begin(), positions.end());
    std::ranges::sort(sorted);
    int32_t last = -1;
    for (int32_t position : sorted) {
        const auto at = static_cast<size_t>(position);
        if (position <= last || at >= dead_.size() || dead_[at] != 0)
            throw std::invalid_argument("There is no document at position " + std::to_string(position) +
                                        ", or it is given twice. Remove documents that are there, each once.");
        last = position;
    }
    removed_.insert(removed_.end(), sorted.begin(), sorted.end());
    for (int32_t position : sorted) {
        dead_[static_cast<size_t>(position)] = 1;
        n_words_ -= lengths_[static_cast<size_t>(position)];
    }
    ++changes_;
}

std::vector<int32_t> PostingLists::compact() {
    const std::unique_lock lock(mutex_);
    std::vector<int32_t> kept, moved(ids_.size(), -1), lengths;
    std::vector<int64_t> ids;
    for (size_t position = 0; position < ids_.size(); ++position) {
        if (dead_[position] != 0) continue;
        moved[position] = static_cast<int32_t>(kept.size());
        kept.push_back(static_cast<int32_t>(position));
        ids.push_back(ids_[position]);
        lengths.push_back(lengths_[position]);
    }
    if (removed_.empty()) return kept;
    std::unordered_map<int32_t, Held> lists;
    for (const auto& [column, held] : lists_) {
        PostingList& list = lists[column].list;
        held.list.each([&](int32_t position, int32_t count) {
            if (dead_[static_cast<size_t>(position)] == 0) list.append(moved[static_cast<size_t>(position)], count);
        });
        list.close();
        list.shrink();
    }
    std::unordered_map<int32_t, Packed> packed;
    for (const auto& [column, own] : packed_)
        each_live(own.content, [&](int64_t position, int32_t count) {
            packed[column].append(ids_[static_cast<size_t>(position)], count);
        });
    ids_.swap(ids);
    lengths_.swap(lengths);
    runs_.clear();
    extend_runs(0);
    dead_.assign(ids_.size(), 0);
    removed_.clear();
    lists_.swap(lists);
    packed_.swap(packed);
    ++changes_;
    return kept;
}

// Calls visit(position, count) for the pairs of a packed list whose documents are there.
template <class Visit>
void PostingLists::each_live(std::span<const uint8_t> content, Visit&& visit) const {
    PairReader reader(content.data(), content.data() + content.size(), std::numeric_limits<int64_t>::max());
    for (size_t hint = 0; reader.next();) {
        const int64_t position = position_of(reader.number, hint);
        if (position >= 0 && dead_[static_cast<size_t>(position)] == 0) visit(position, reader.count);
    }
}

void PostingLists::forget_packed() {
    const std::unique_lock lock(mutex_);
    packed_.clear();
    ++changes_;
}

std::vector<int32_t> PostingLists::evict(size_t most, int64_t first) {
    const std::unique_lock lock(mutex_);
    size_t bytes = 0;
    std::vector<std::pair<uint64_t, int32_t>> order;
    for (const auto& [column, held] : lists_) {
        bytes += held.list.nbytes();
        order.emplace_back(held.used.load(std::memory_order_relaxed), column);
    }
    std::vector<int32_t> evicted;
    if (bytes <= most) return evicted;
    std::ranges::sort(order);
    const auto begin = std::ranges::lower_bound(ids_, first) - ids_.begin();
    for (const auto& [used, column] : order) {
        if (bytes <= most) break;
        const auto found = lists_.find(column);
        bytes -= found->second.list.nbytes();
        Packed rest;
        found->second.list.each_from(static_cast<int32_t>(begin), [&](int32_t position, int32_t count) {
            rest.append(ids_[static_cast<size_t>(position)], count);
        });
        if (!rest.content.empty()) packed_[column] = std::move(rest);
        lists_.erase(found);
        evicted.push_back(column);
    }
    ++changes_;
    return evicted;
}

bool PostingLists::holds(int32_t column) const {
    const std::shared_lock lock(mutex_);
    return lists_.contains(column);
}

PostingLists::Held& PostingLists::held(int32_t column) {
    const auto found = lists_.find(column);
    if (found == lists_.end())
        throw std::invalid_argument("The postings of column " + std::to_string(column) +
                                    " are not in memory. Put them there first.");
    found->second.used.store(clock_.fetch_add(1) + 1, std::memory_order_relaxed);
    return found->second;
}

// Frees a list from documents that were removed.
void PostingLists::settle(Held& held) const {
    const std::span<const int32_t> removed = std::span(removed_).subspan(held.settled);
    const auto has = [&](int32_t position) { return held.list.contains(position); };
    if (removed.size() <= kFewRemoved)
        held.list.free_from(removed);
    else if (removed.size() > held.list.size() || std::ranges::any_of(removed, has)) {
        PostingList list;
        held.list.each([&](int32_t position, int32_t count) {
            if (dead_[static_cast<size_t>(position)] == 0) list.append(position, count);
        });
        list.close();
        held.list = std::move(list);
    }
    held.settled = removed_.size();
}

// Calls use() once the lists of some columns are free from documents that were removed.
template <class Use>
auto PostingLists::with_settled(std::span<const int32_t> columns, Use&& use) {
    {
        const std::shared_lock lock(mutex_);
        if (std::ranges::all_of(columns, [&](int32_t column) { return held(column).settled == removed_.size(); }))
            return use();
    }
    const std::unique_lock lock(mutex_);
    for (int32_t column : columns) settle(held(column));
    return use();
}

std::vector<int32_t> PostingLists::positions(int32_t column) {
    return with_settled({&column, 1}, [&] {
        std::vector<int32_t> result;
        result.reserve(held(column).list.size());
        held(column).list.each([&](int32_t position, int32_t) { result.push_back(position); });
        return result;
    });
}

std::vector<int32_t> PostingLists::document_frequencies(std::span<const int32_t> columns) {
    return with_settled(columns, [&] {
        std::vector<int32_t> frequencies;
        for (int32_t column : columns) frequencies.push_back(static_cast<int32_t>(held(column).list.size()));
        return frequencies;
    });
}

PackedPostings PostingLists::pack() const {
    const std::shared_lock lock(mutex_);
    PackedPostings result;
    for (const auto& [column, held] : lists_) result.columns.push_back(column);
    for (const auto& [column, packed] : packed_) result.columns.push_back(column);
    std::ranges::sort(result.columns);
    size_t kept = 0;
    result.lists.offsets.push_back(0);
    for (int32_t column : result.columns) {
        Packed rewritten;
        const auto write = [&](int64_t position, int32_t count) {
            if (dead_[static_cast<size_t>(position)] == 0) rewritten.append(ids_[static_cast<size_t>(position)], count);
        };
        const std::vector<uint8_t>* content = &rewritten.content;
        if (const auto held = lists_.find(column); held != lists_.end())
            held->second.list.each(write);
        else if (const Packed& packed = packed_.at(column); removed_.empty())
            content = &packed.content;
        else
            each_live(packed.content, write);
        if (content->empty()) continue;
        result.lists.content.insert(result.lists.content.end(), content->begin(), content->end());
        result.lists.offsets.push_back(static_cast<int64_t>(result.lists.content.size()));
        result.columns[kept++] = column;
    }
    result.columns.resize(kept);
    return result;
}

size_t PostingLists::n_documents() const {
    const std::shared_lock lock(mutex_);
    return ids_.size();
}

size_t PostingLists::live() const {
    const std::shared_lock lock(mutex_);
    return ids_.size() - removed_.size();
}

int64_t PostingLists::next_id() const {
    const std::shared_lock lock(mutex_);
    return last_id_ + 1;
}

int64_t PostingLists::n_words() const {
    const std::shared_lock lock(mutex_);
    return n_words_;
}

// The entries of live documents.
template <class Value>
std::vector<Value> PostingLists::of_live(const std::vector<Value>& values) const {
    const std::shared_lock lock(mutex_);
    std::vector<Value> result;
    for (size_t position = 0; position < values.size(); ++position)
        if (dead_[position] == 0) result.push_back(values[position]);
    return result;
}

std::vector<int64_t> PostingLists::ids() const {
    return of_live(ids_);
}

std::vector<int32_t> PostingLists::lengths() const {
    return of_live(lengths_);
}

size_t PostingLists::nbytes() const {
    const std::shared_lock lock(mutex_);
    size_t bytes = ids_.size() * (sizeof(int64_t) + sizeof(int32_t) + 1) + removed_.size() * sizeof(int32_t) +
                   runs_.size() * sizeof(IdRun);
    for (const auto& [column, held] : lists_) bytes += held.list.nbytes();
    for (const auto& [column, packed] : packed_) bytes += sizeof(Packed) + packed.content.capacity();
    return bytes;
}

namespace {

struct WeightedColumn {
    int32_t column;
    float weight;
    size_t place;  // in the query
    bool optional;
};

// The columns of one query, each once, by falling weight, equal weights in the order given, and optional ones behind
// all others. Those without weight are left out.
std::vector<WeightedColumn> columns_of(const QueriesView& queries, size_t query) {
    const int64_t begin = queries.indptr[query], end = queries.indptr[query + 1];
    if (begin < 0 || begin > end || end > static_cast<int64_t>(queries.size))
        throw std::invalid_argument("The columns of query " + std::to_string(query) + " are out of range.");
    const int64_t n_optional = queries.optional == nullptr ? 0 : queries.optional[query];
    if (n_optional < 0 || n_optional > end - begin)
        throw std::invalid_argument("Query " + std::to_string(query) + " has fewer columns than optional ones.");
    std::vector<WeightedColumn> weighted;
    for (int64_t at = begin; at < end; ++at) {
        const float weight = queries.weights[at];
        if (!(weight >= 0 && weight <= kMostWeight))
            throw std::invalid_argument("Query " + std::to_string(query) + " has the weight " + std::to_string(weight) +
                                        ". Weights must be between 0 and 1e30.");
        weighted.push_back({queries.columns[at], weight, weighted.size(), at >= end - n_optional});
    }
    std::ranges::stable_sort(weighted, {}, &WeightedColumn::column);
    size_t kept = 0;
    for (const WeightedColumn& term : weighted) {
        if (kept > 0 && weighted[kept - 1].column == term.column) {
            weighted[kept - 1].weight += term.weight;
            weighted[kept - 1].optional &= term.optional;
        } else {
            weighted[kept++] = term;
        }
    }
    weighted.resize(kept);
    std::ranges::sort(weighted, [](const WeightedColumn& a, const WeightedColumn& b) {
        if (a.optional != b.optional) return b.optional;
        return a.weight != b.weight ? a.weight > b.weight : a.place < b.place;
    });
    return weighted;
}

}  // namespace

BestDocuments PostingLists::search(const QueriesView& queries, const Bm25& scoring, size_t k,
                                   const Selection& selection, int threads, StopFlag& stop) {
    if (!(scoring.k1 >= 0 && scoring.k1 <= 1000 && scoring.b >= 0 && scoring.b <= 1))
        throw std::invalid_argument("BM25 needs k1 between 0 and 1000, and b between 0 and 1.");
    const double mean = scoring.mean_length;
    if (!(mean == 0 || (mean >= 1e-10 && mean <= std::numeric_limits<int32_t>::max())))
        throw std::invalid_argument("The mean length must be 0, or between 1e-10 and 2147483647.");
    std::vector<std::vector<WeightedColumn>> columns(queries.count);
    for (size_t query = 0; query < queries.count; ++query) columns[query] = columns_of(queries, query);
    std::vector<std::vector<QueryTerm>> terms(queries.count);
    // Looks all lists up; false at the first that is not ready for a search, unless it may be prepared.
    const auto gather = [&](bool prepare) {
        for (size_t query = 0; query < queries.count; ++query) {
            terms[query].clear();
            for (const WeightedColumn& term : columns[query]) {
                Held& own = held(term.column);
                if (own.settled != removed_.size()) {
                    if (!prepare) return false;
                    settle(own);
                }
                if (term.weight == 0 || own.list.size() == 0) continue;
                if (!own.list.prepared(scoring)) {
                    if (!prepare) return false;
                    own.list.prepare(scoring, lengths_);
                }
                terms[query].push_back({&own.list, term.weight, term.optional});
            }
        }
        return true;
    };
    // Lists are prepared by one thread at a time, and searched by many. Should another thread change them or prepare
    // them for other parameters in between, the second round keeps all others away.
    for (int round = 1;; ++round) {
        {
            const std::shared_lock lock(mutex_);
            const DocumentsView documents = documents_of(selection);
            if (gather(false)) return search_prepared(terms, k, documents, threads, stop);
        }
        const std::unique_lock lock(mutex_);
        gather(true);
        if (round == 2) return search_prepared(terms, k, documents_of(selection), threads, stop);
    }
}

DocumentsView PostingLists::documents_of(const Selection& selection) const {
    if (selection.allowed && selection.allowed->size() != ids_.size())
        throw std::invalid_argument("allowed must have one byte per document.");
    if (selection.ranks && selection.ranks->size() != ids_.size())
        throw std::invalid_argument("ranks must have one number per document.");
    return {selection.allowed ? selection.allowed->data() : nullptr,
            selection.ranks ? selection.ranks->data() : nullptr};
}

BestDocuments PostingLists::search_prepared(const std::vector<std::vector<QueryTerm>>& terms, size_t k,
                                            const DocumentsView& documents, int threads, StopFlag& stop) const {
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
    constexpr size_t kTogether = 8;
    parallel_for(terms.size(), kTogether, threads, stop, [&](size_t begin, size_t end, int) {
        // Kept for the next search: to make one takes as long as to search a short list.
        thread_local PostingSearcher searcher;
        for (size_t at = begin; at < end; ++at) {
            const size_t query = order[at];
            searcher.search(terms[query], ids_.size(), k, documents, best.positions.data() + query * k,
                            best.scores.data() + query * k);
        }
    });
    return best;
}

}  // namespace sthash::words
