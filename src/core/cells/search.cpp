#include "cells/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cells/kernels.hpp"
#include "cells/select.hpp"
#include "compiler.hpp"
#include "dot.hpp"
#include "quantizer/kernels.hpp"

namespace sthash::cells {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

constexpr size_t kRoom = 3;            // so many times as many candidates as wanted are held
constexpr size_t kLine = 64;           // bytes that memory gives at once
constexpr size_t kTile = 64;           // rows that several queries are multiplied with while they are in the cache
constexpr size_t kQueriesAtOnce = 16;  // per piece of work

// Memory of one thread.
struct Scratch {
    std::vector<float> products, weights, scaled;
    std::vector<int16_t> rounded;  // the query
    std::vector<int32_t> sums;
    std::vector<uint64_t> order, found, edge;  // keys of cells, and of rows
    std::vector<const Extent*> visited;
    std::vector<const uint32_t*> places;  // of the slots of candidates
    std::vector<const void*> rows;        // their vectors
    std::vector<uint8_t> low, high;
};

// Writes the 16 sums of the weights of four bits, those of 1 as they are, those of 0 turned around, in steps from the
// least sum.
void fill_table(const float* weights, float step, uint8_t* table) {
    float sums[16] = {};
    for (size_t bit = 0; bit < 4; ++bit) {
        const float twice = 2.0f * std::abs(weights[bit]);
        const size_t wanted = weights[bit] > 0.0f ? 1 : 0;
        for (size_t pattern = 0; pattern < 16; ++pattern)
            sums[pattern] += (pattern >> bit & 1) == wanted ? twice : 0.0f;
    }
    for (size_t pattern = 0; pattern < 16; ++pattern) {
        const float value = std::min<float>(kMostValue, sums[pattern] / step + 0.5f);
        table[pattern] = table[pattern + 16] = static_cast<uint8_t>(static_cast<int>(value));
    }
}

Tables fill_tables(const float* weights, size_t bytes, Scratch& scratch) {
    float widest = 0.0f, base = 0.0f;
    for (size_t n = 0; n < 2 * bytes; ++n) {
        float span = 0.0f;
        for (size_t bit = 0; bit < 4; ++bit) span += std::abs(weights[4 * n + bit]);
        widest = std::max(widest, span);
        base -= span;
    }
    const float step = widest > 0.0f ? 2.0f * widest / static_cast<float>(kMostValue) : 1.0f;
    scratch.low.resize(32 * bytes);
    scratch.high.resize(32 * bytes);
    for (size_t byte = 0; byte < bytes; ++byte) {
        fill_table(weights + 8 * byte, step, scratch.low.data() + 32 * byte);
        fill_table(weights + 8 * byte + 4, step, scratch.high.data() + 32 * byte);
    }
    return {scratch.low.data(), scratch.high.data(), step, base};
}

// Keeps the best candidates: a list of several times as many as wanted, cut down when it is full.
class Candidates {
 public:
    Candidates(std::vector<uint64_t>& keys, std::vector<uint64_t>& edge, size_t wanted)
        : keys_(keys), edge_(edge), wanted_(wanted) {
        keys_.clear();
    }
    float limit() const { return limit_; }
    void add(float score, uint32_t number) {
        keys_.push_back(key_of(score, number));
        if (keys_.size() == kRoom * wanted_) cut();
    }
    void cut() {
        if (keys_.size() > wanted_) limit_ = score_of(keep_least(keys_, wanted_, edge_));
    }

 private:
    std::vector<uint64_t>&keys_, &edge_;
    size_t wanted_;
    float limit_ = kNever;
};

struct CellFacts {
    float unit, inverse_square, weight;
};

CellFacts facts(const Coder& coder, size_t cell) {
    return {coder.lengths[3 * cell], coder.lengths[3 * cell + 1], coder.lengths[3 * cell + 2]};
}

// Looks at the codes of an extent, the `number`-th that was visited.
void scan_extent(const Coder& coder, const Extent& extent, size_t number, const CellTerms& own, const Tables& tables,
                 const Selection* selection, Candidates& candidates) {
    Found near[kExtentRows];
    const Scales scales{{coder.scales[0], coder.scales[1]}, {coder.scales[2], coder.scales[3]}};
    const auto first = static_cast<int32_t>(number << kExtentBits), end = first + static_cast<int32_t>(extent.size);
    const size_t hits =
        scan(extent.blocks.get(), extent.n_blocks(), coder.bytes, tables, scales, own, candidates.limit(), first, near);
    const bool whole = extent.dead_count == 0 && selection == nullptr;
    for (size_t i = 0; i < hits && near[i].place < end; ++i) {
        if (near[i].score < candidates.limit()) continue;
        const auto row = static_cast<uint32_t>(near[i].place - first);
        if (whole || (!extent.is_dead(row) && (selection == nullptr || selection->has(extent.slots[row]))))
            candidates.add(near[i].score, static_cast<uint32_t>(near[i].place));
    }
}

void prefetch(const void* from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += kLine) STHASH_PREFETCH(static_cast<const char*>(from) + at);
}

void prefetch_id(const Snapshot& snapshot, uint32_t slot) {
    const Page& page = snapshot.page_of(slot);
    if (page.ids) STHASH_PREFETCH(page.ids.get() + (slot & (kPageRows - 1)));
}

// Asks for the first blocks of a cell; the processor itself goes on from there.
void prefetch_cell(const Coder& coder, const Cell& cell) {
    if (!cell.empty())
        prefetch(cell[0].blocks.get(), std::min<size_t>(cell[0].n_blocks(), 2) * kBlock * coder.row_bytes());
}

// Fills the products with all centers. The query is rounded to whole numbers, as large as sums of 32 bits allow.
void multiply_centers(const Coder& coder, const float* query, Scratch& scratch) {
    const size_t dimension = coder.dimension;
    float largest = 0.0f;
    for (size_t i = 0; i < dimension; ++i) largest = std::max(largest, std::abs(query[i]));
    const float most = std::min(32767.0f, static_cast<float>((1 << 30) / 127) / static_cast<float>(dimension));
    const float step = largest > 1e-30f ? largest / most : 1.0f;
    scratch.rounded.resize(dimension);
    for (size_t i = 0; i < dimension; ++i)
        scratch.rounded[i] = static_cast<int16_t>(query[i] / step + (query[i] < 0.0f ? -0.5f : 0.5f));
    scratch.sums.resize(coder.n_cells);
    products(scratch.rounded.data(), coder.centers, coder.n_cells, dimension, scratch.sums.data());
    scratch.products.resize(coder.n_cells);
    for (size_t cell = 0; cell < coder.n_cells; ++cell)
        scratch.products[cell] = static_cast<float>(scratch.sums[cell]) * (step * facts(coder, cell).unit);
}

// Fills `order` with the keys of the cells to look into, best first. `sizes` says how many rows count in each cell, of
// `total` in all; cells without such rows are left out.
void choose_cells(const Coder& coder, const Request& request, const std::vector<int32_t>& sizes, size_t total,
                  Scratch& scratch) {
    std::vector<uint64_t>& order = scratch.order;
    const size_t least = std::min(request.k, total);
    const auto size = [&](uint64_t key) { return static_cast<size_t>(sizes[number_of(key)]); };
    for (size_t probes = request.probes;; probes = coder.n_cells) {
        order.resize(coder.n_cells);
        uint64_t best = UINT64_MAX;
        size_t filled = 0;
        for (size_t cell = 0; cell < coder.n_cells; ++cell) {
            const float rating = scratch.products[cell] * facts(coder, cell).weight;
            const uint64_t key = key_of(rating, static_cast<uint32_t>(cell));
            order[filled] = key;
            best = sizes[cell] > 0 ? std::min(best, key) : best;
            filled += sizes[cell] > 0 ? 1 : 0;
        }
        order.resize(filled);
        const uint64_t last = key_of(score_of(best) - request.margin, UINT32_MAX);
        size_t within = 0, rows = 0, needed = 0;
        for (const uint64_t key : order) within += key <= last ? size(key) : 0;
        if (within >= request.candidates) std::erase_if(order, [&](uint64_t key) { return key > last; });
        if (probes < order.size()) keep_least(order, probes, scratch.edge);
        std::sort(order.begin(), order.end());
        const auto wanted = [&] {
            return rows < least || (needed < request.probes && (order[needed] <= last || rows < request.candidates));
        };
        while (needed < order.size() && wanted()) rows += size(order[needed++]);
        order.resize(needed);
        if (rows >= least || probes >= coder.n_cells) return;
    }
}

template <class Value>
const Value* row_of(const Coder& coder, const Snapshot& snapshot, uint32_t slot) {
    return reinterpret_cast<const Value*>(snapshot.vector_of(slot, coder.dimension * sizeof(Value)));
}

// Fills `found` with the keys of the slots in `places`, by their scores.
template <class Value>
void score(const Coder& coder, const Snapshot& snapshot, const float* query, Scratch& scratch) {
    constexpr size_t kAhead = 6;
    const size_t count = scratch.places.size(), bytes = coder.vector_bytes();
    scratch.rows.resize(count);
    for (size_t at = 0; at < count; ++at) scratch.rows[at] = row_of<Value>(coder, snapshot, *scratch.places[at]);
    for (size_t at = 0; at < std::min(kAhead, count); ++at) prefetch(scratch.rows[at], bytes);
    for (size_t at = 0; at < count; ++at) {
        if (at + kAhead < count) prefetch(scratch.rows[at + kAhead], bytes);
        const auto* const row = static_cast<const Value*>(scratch.rows[at]);
        scratch.found[at] = key_of(dot(query, row, coder.dimension), *scratch.places[at]);
    }
}

// Calls visit with a value of the type that vectors have.
template <class Visit>
void with_type(Precision precision, Visit&& visit) {
    if (precision == Precision::float32) return visit(float{});
    if (precision == Precision::float16) return visit(uint16_t{});
    visit(int8_t{});
}

// The query as it is multiplied with vectors: those of bytes count in steps.
const float* scaled(const Coder& coder, const float* query, std::vector<float>& memory) {
    if (coder.precision != Precision::int8) return query;
    memory.resize(coder.dimension);
    for (size_t i = 0; i < coder.dimension; ++i) memory[i] = query[i] * coder.steps[i];
    return memory.data();
}

void write_nothing(size_t from, size_t k, int64_t* ids, float* scores) {
    std::fill(ids + from, ids + k, -1);
    std::fill(scores + from, scores + k, kNever);
}

void search_one(const Snapshot& snapshot, const Request& request, const Selection* selection, size_t total,
                const float* query, const float* weights, int64_t* ids, float* scores, Scratch& scratch) {
    const Coder& coder = snapshot.coder;
    multiply_centers(coder, query, scratch);
    choose_cells(coder, request, selection != nullptr ? selection->sizes : snapshot.sizes, total, scratch);
    const Tables tables = fill_tables(weights, coder.bytes, scratch);
    Candidates candidates(scratch.found, scratch.edge, request.candidates);
    scratch.visited.clear();
    const auto cell_at = [&](size_t at) { return snapshot.cells[number_of(scratch.order[at])].get(); };
    for (size_t at = 0; at < scratch.order.size(); ++at) {
        if (at + 3 < scratch.order.size()) STHASH_PREFETCH(cell_at(at + 3));
        if (at + 2 < scratch.order.size()) STHASH_PREFETCH(cell_at(at + 2)->data());
        if (at + 1 < scratch.order.size()) prefetch_cell(coder, *cell_at(at + 1));
        const size_t cell = number_of(scratch.order[at]);
        const float product = scratch.products[cell];
        const CellTerms own{product, product * facts(coder, cell).inverse_square};
        for (const Extent& extent : *snapshot.cells[cell]) {
            scan_extent(coder, extent, scratch.visited.size(), own, tables, selection, candidates);
            scratch.visited.push_back(&extent);
        }
    }
    candidates.cut();
    if (request.estimated) {
        std::sort(scratch.found.begin(), scratch.found.end());
        const size_t kept = std::min(request.k, scratch.found.size());
        for (size_t i = 0; i < kept; ++i) {
            const Extent& extent = *scratch.visited[number_of(scratch.found[i]) >> kExtentBits];
            ids[i] = snapshot.id_of(extent.slots[number_of(scratch.found[i]) & (kExtentRows - 1)]);
            scores[i] = score_of(scratch.found[i]);
        }
        write_nothing(kept, request.k, ids, scores);
        return;
    }
    scratch.places.clear();
    for (const uint64_t key : scratch.found) {
        const Extent& extent = *scratch.visited[number_of(key) >> kExtentBits];
        scratch.places.push_back(extent.slots.get() + (number_of(key) & (kExtentRows - 1)));
        STHASH_PREFETCH(scratch.places.back());
    }
    const float* const own_query = scaled(coder, query, scratch.scaled);
    with_type(coder.precision, [&](auto value) { score<decltype(value)>(coder, snapshot, own_query, scratch); });
    const size_t kept = std::min(request.k, scratch.found.size());
    const auto middle = scratch.found.begin() + static_cast<ptrdiff_t>(kept);
    if (snapshot.sorted)
        std::partial_sort(scratch.found.begin(), middle, scratch.found.end());
    else
        std::partial_sort(scratch.found.begin(), middle, scratch.found.end(), [&](uint64_t a, uint64_t b) {
            if (a >> 32 != b >> 32) return a < b;
            return snapshot.id_of(number_of(a)) < snapshot.id_of(number_of(b));
        });
    for (size_t i = 0; i < kept; ++i) prefetch_id(snapshot, number_of(scratch.found[i]));
    for (size_t i = 0; i < kept; ++i) {
        ids[i] = snapshot.id_of(number_of(scratch.found[i]));
        scores[i] = score_of(scratch.found[i]);
    }
    write_nothing(kept, request.k, ids, scores);
}

}  // namespace

Selection::Selection(const Snapshot& snapshot, std::vector<uint32_t> live_slots)
    : slots(std::move(live_slots)), bits(snapshot.pages.size() * (kPageRows / 64)), sizes(snapshot.coder.n_cells) {
    for (const uint32_t slot : slots) {
        bits[slot / 64] |= uint64_t{1} << (slot % 64);
        ++sizes[static_cast<size_t>(snapshot.page_of(slot).cells[slot & (kPageRows - 1)])];
    }
}

Search::Search(const Snapshot& snapshot, const Request& request, const Selection* selection)
    : coder_(snapshot.coder), snapshot_(snapshot), request_(request), selection_(selection) {
    const Coder& coder = coder_;
    const auto rows = static_cast<double>(selection != nullptr ? selection->slots.size() : snapshot.size);
    const auto live = static_cast<double>(snapshot.size), dimension = static_cast<double>(coder.dimension);
    const auto n_cells = static_cast<double>(coder.n_cells), candidates = static_cast<double>(request.candidates);
    // Centers are bytes, four times as quick as vectors; a byte of a code takes about as long as a quarter of a value.
    const double probed = live * std::min(1.0, static_cast<double>(request.probes) / n_cells);
    const double scanned = std::min(live, std::max(probed, candidates * live / std::max(rows, 1.0)));
    const double by_cells =
        n_cells * dimension / 8 + scanned * static_cast<double>(coder.bytes) / 4 + candidates * dimension;
    const double by_vectors = rows * dimension;
    exact_ = !request.estimated && (request.plan == Request::Plan::exact ||
                                    (request.plan == Request::Plan::cheapest && by_vectors <= by_cells));
    cost_ = exact_ ? by_vectors : by_cells;
}

void Search::run(int64_t* ids, float* scores, int threads, StopFlag& stop) const {
    if (exact_)
        score_everything(ids, scores, threads, stop);
    else
        search_cells(ids, scores, threads, stop);
}

void Search::score_everything(int64_t* ids, float* scores, int threads, StopFlag& stop) const {
    std::vector<uint32_t> slots = selection_ != nullptr ? selection_->slots : snapshot_.slots_by_id();
    if (selection_ != nullptr && !snapshot_.sorted) snapshot_.order_by_id(slots);
    const size_t k = request_.k, dimension = coder_.dimension;
    parallel_for(request_.count, kQueriesAtOnce, threads, stop, [&](size_t first, size_t last, int) {
        struct Asked {
            const float* query;
            std::vector<float> scaled;
            std::vector<uint64_t> keys, edge;
        };
        std::vector<Asked> asked(last - first);
        std::vector<Candidates> best;
        for (size_t q = 0; q < asked.size(); ++q) {
            asked[q].query = scaled(coder_, request_.queries + (first + q) * dimension, asked[q].scaled);
            best.emplace_back(asked[q].keys, asked[q].edge, k);
        }
        with_type(coder_.precision, [&](auto value) {
            using Value = decltype(value);
            for (size_t begin = 0; begin < slots.size() && !stop.load(std::memory_order_relaxed); begin += kTile)
                for (size_t q = 0; q < asked.size(); ++q)
                    for (size_t at = begin; at < std::min(begin + kTile, slots.size()); ++at) {
                        const float score = dot(asked[q].query, row_of<Value>(coder_, snapshot_, slots[at]), dimension);
                        // Ranks among the slots are the numbers, so that equal ones are ordered by id.
                        if (score >= best[q].limit()) best[q].add(score, static_cast<uint32_t>(at));
                    }
        });
        for (size_t q = 0; q < asked.size(); ++q) {
            best[q].cut();
            std::vector<uint64_t>& keys = asked[q].keys;
            std::sort(keys.begin(), keys.end());
            int64_t* const own_ids = ids + (first + q) * k;
            float* const own_scores = scores + (first + q) * k;
            for (size_t i = 0; i < keys.size(); ++i) {
                own_ids[i] = snapshot_.id_of(slots[number_of(keys[i])]);
                own_scores[i] = score_of(keys[i]);
            }
            write_nothing(keys.size(), k, own_ids, own_scores);
        }
    });
}

void Search::search_cells(int64_t* ids, float* scores, int threads, StopFlag& stop) const {
    const size_t total = selection_ != nullptr ? selection_->slots.size() : snapshot_.size;
    std::vector<Scratch> scratch(static_cast<size_t>(std::max(threads, 1)));
    const size_t bits = 8 * coder_.bytes;
    parallel_for(request_.count, kQueriesAtOnce, threads, stop, [&](size_t first, size_t last, int thread) {
        Scratch& own = scratch[static_cast<size_t>(thread)];
        const size_t count = last - first;
        const float* vectors = request_.queries + first * coder_.dimension;
        own.weights.resize(count * bits);
        quantizer::multiply_rows(vectors, count, coder_.dimension, coder_.signs, bits, own.weights.data());
        for (size_t q = 0; q < count; ++q) {
            const size_t place = (first + q) * request_.k;
            search_one(snapshot_, request_, selection_, total, vectors + q * coder_.dimension,
                       own.weights.data() + q * bits, ids + place, scores + place, own);
        }
    });
}

}  // namespace sthash::cells
