#include "cells/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cells/kernels.hpp"
#include "cells/select.hpp"
#include "compiler.hpp"
#include "quantizer/kernels.hpp"

namespace sthash::cells {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

constexpr size_t kTogether = 8;  // blocks that are looked at with one limit
constexpr size_t kRoom = 3;      // so many times as many candidates as wanted are held
constexpr size_t kLine = 64;     // bytes that memory gives at once

// Memory of one thread.
struct Scratch {
    std::vector<float> products, weights, scaled;
    std::vector<int16_t> rounded;  // the query
    std::vector<int32_t> sums;
    std::vector<uint64_t> order, found, edge;  // keys of cells, and of places or ids
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
    void add(const Found& found) {
        keys_.push_back(key_of(found.score, static_cast<uint32_t>(found.place)));
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

CellFacts facts(const Index& index, size_t cell) {
    return {index.lengths[3 * cell], index.lengths[3 * cell + 1], index.lengths[3 * cell + 2]};
}

void scan_cell(const Index& index, size_t cell, float product, const Tables& tables, Candidates& candidates) {
    Found near[kTogether * kBlock];
    const Scales scales{{index.scales[0], index.scales[1]}, {index.scales[2], index.scales[3]}};
    const Cell own{product, product * facts(index, cell).inverse_square};
    const size_t last = static_cast<size_t>(index.starts[cell + 1]);
    const int32_t end = static_cast<int32_t>(index.starts[cell]) * static_cast<int32_t>(kBlock) + index.sizes[cell];
    for (size_t block = static_cast<size_t>(index.starts[cell]); block < last; block += kTogether) {
        const size_t hits =
            scan(index.blocks + block * kBlock * (index.bytes + 2), std::min(kTogether, last - block), index.bytes,
                 tables, scales, own, candidates.limit(), static_cast<int32_t>(block * kBlock), near);
        for (size_t i = 0; i < hits && near[i].place < end; ++i)
            if (near[i].score >= candidates.limit()) candidates.add(near[i]);
    }
}

void prefetch(const void* from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += kLine) STHASH_PREFETCH(static_cast<const char*>(from) + at);
}

// Asks for the first blocks of a cell; the processor itself goes on from there.
void prefetch_cell(const Index& index, size_t cell) {
    const size_t size = kBlock * (index.bytes + 2), first = static_cast<size_t>(index.starts[cell]);
    const size_t count = static_cast<size_t>(index.starts[cell + 1]) - first;
    prefetch(index.blocks + first * size, std::min<size_t>(count, 2) * size);
}

// Fills the products with all centers. The query is rounded to whole numbers, as large as sums of 32 bits allow.
void multiply_centers(const Index& index, const float* query, Scratch& scratch) {
    const size_t dimension = index.dimension;
    float largest = 0.0f;
    for (size_t i = 0; i < dimension; ++i) largest = std::max(largest, std::abs(query[i]));
    const float most = std::min(32767.0f, static_cast<float>((1 << 30) / 127) / static_cast<float>(dimension));
    const float step = largest > 1e-30f ? largest / most : 1.0f;
    scratch.rounded.resize(dimension);
    for (size_t i = 0; i < dimension; ++i)
        scratch.rounded[i] = static_cast<int16_t>(query[i] / step + (query[i] < 0.0f ? -0.5f : 0.5f));
    scratch.sums.resize(index.n_cells);
    products(scratch.rounded.data(), index.centers, index.n_cells, dimension, scratch.sums.data());
    scratch.products.resize(index.n_cells);
    for (size_t cell = 0; cell < index.n_cells; ++cell)
        scratch.products[cell] = static_cast<float>(scratch.sums[cell]) * (step * facts(index, cell).unit);
}

// Fills `order` with the keys of the cells to look into, best first.
void choose_cells(const Index& index, const Request& request, Scratch& scratch) {
    std::vector<uint64_t>& order = scratch.order;
    order.resize(index.n_cells);
    uint64_t best = UINT64_MAX;
    for (size_t cell = 0; cell < index.n_cells; ++cell) {
        const float rating = scratch.products[cell] * facts(index, cell).weight;
        order[cell] = key_of(rating, static_cast<uint32_t>(cell));
        best = std::min(best, order[cell]);
    }
    const auto size = [&](uint64_t key) { return static_cast<size_t>(index.sizes[number_of(key)]); };
    const uint64_t last = key_of(score_of(best) - request.margin, UINT32_MAX);
    size_t within = 0, rows = 0, needed = 0;
    for (const uint64_t key : order) within += key <= last ? size(key) : 0;
    if (within >= request.candidates) std::erase_if(order, [&](uint64_t key) { return key > last; });
    if (request.probes < order.size()) keep_least(order, request.probes, scratch.edge);
    std::sort(order.begin(), order.end());
    while (needed < order.size() && (order[needed] <= last || rows < request.candidates)) rows += size(order[needed++]);
    order.resize(needed);
}

template <class Value>
void score(const Index& index, const float* query, std::vector<uint64_t>& keys) {
    constexpr size_t ahead = 6;
    const Value* vectors = static_cast<const Value*>(index.vectors);
    const auto row = [&](size_t at) { return vectors + size_t{number_of(keys[at])} * index.dimension; };
    for (size_t at = 0; at < std::min(ahead, keys.size()); ++at) prefetch(row(at), index.dimension * sizeof(Value));
    for (size_t at = 0; at < keys.size(); ++at) {
        if (at + ahead < keys.size()) prefetch(row(at + ahead), index.dimension * sizeof(Value));
        keys[at] = key_of(dot(query, row(at), index.dimension), number_of(keys[at]));
    }
}

void score_all(const Index& index, const float* query, Scratch& scratch) {
    if (index.precision == Precision::float32) return score<float>(index, query, scratch.found);
    if (index.precision == Precision::float16) return score<uint16_t>(index, query, scratch.found);
    scratch.scaled.resize(index.dimension);
    for (size_t i = 0; i < index.dimension; ++i) scratch.scaled[i] = query[i] * index.steps[i];
    score<int8_t>(index, scratch.scaled.data(), scratch.found);
}

void search_one(const Index& index, const Request& request, const float* query, const float* weights, int64_t* ids,
                float* scores, Scratch& scratch) {
    multiply_centers(index, query, scratch);
    choose_cells(index, request, scratch);
    const Tables tables = fill_tables(weights, index.bytes, scratch);
    Candidates candidates(scratch.found, scratch.edge, request.candidates);
    for (size_t at = 0; at < scratch.order.size(); ++at) {
        if (at + 1 < scratch.order.size()) prefetch_cell(index, number_of(scratch.order[at + 1]));
        const size_t cell = number_of(scratch.order[at]);
        scan_cell(index, cell, scratch.products[cell], tables, candidates);
    }
    candidates.cut();
    for (const uint64_t key : scratch.found) STHASH_PREFETCH(index.ids + number_of(key));
    for (uint64_t& key : scratch.found) key = static_cast<uint32_t>(index.ids[number_of(key)]);
    score_all(index, query, scratch);
    const size_t kept = std::min(request.k, scratch.found.size());
    std::partial_sort(scratch.found.begin(), scratch.found.begin() + static_cast<long>(kept), scratch.found.end());
    for (size_t i = 0; i < request.k; ++i) {
        ids[i] = i < kept ? static_cast<int64_t>(number_of(scratch.found[i])) : -1;
        scores[i] = i < kept ? score_of(scratch.found[i]) : kNever;
    }
}

}  // namespace

void search(const Index& index, const Request& request, int64_t* ids, float* scores, int threads, StopFlag& stop) {
    std::vector<Scratch> scratch(static_cast<size_t>(std::max(threads, 1)));
    const size_t bits = 8 * index.bytes;
    parallel_for(request.count, 16, threads, stop, [&](size_t first, size_t last, int thread) {
        Scratch& own = scratch[static_cast<size_t>(thread)];
        const size_t count = last - first;
        const float* vectors = request.queries + first * index.dimension;
        own.weights.resize(count * bits);
        quantizer::multiply_rows(vectors, count, index.dimension, index.signs, bits, own.weights.data());
        for (size_t q = 0; q < count; ++q) {
            const size_t place = (first + q) * request.k;
            search_one(index, request, vectors + q * index.dimension, own.weights.data() + q * bits, ids + place,
                       scores + place, own);
        }
    });
}

}  // namespace sthash::cells
