#include "cells/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "cells/kernels.hpp"
#include "compiler.hpp"
#include "quantizer/kernels.hpp"

namespace sthash::cells {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Memory of one thread.
struct Scratch {
    std::vector<float> products, weights;
    std::vector<int32_t> order;
    std::vector<uint8_t> low, high;
    std::vector<std::pair<float, int32_t>> found;  // estimate and id
};

struct Better {
    bool operator()(const std::pair<float, int32_t>& a, const std::pair<float, int32_t>& b) const {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
};

Tables fill_tables(const float* weights, size_t bytes, Scratch& scratch) {
    const size_t nibbles = 2 * bytes;
    float widest = 0.0f, base = 0.0f;
    for (size_t n = 0; n < nibbles; ++n) {
        float span = 0.0f;
        for (size_t bit = 0; bit < 4; ++bit) span += std::abs(weights[4 * n + bit]);
        widest = std::max(widest, span);
        base -= span;
    }
    const float step = widest > 0.0f ? 2.0f * widest / 127.0f : 1.0f;
    scratch.low.resize(32 * bytes);
    scratch.high.resize(32 * bytes);
    for (size_t n = 0; n < nibbles; ++n) {
        uint8_t* table = (n % 2 == 0 ? scratch.low : scratch.high).data() + 32 * (n / 2);
        for (size_t pattern = 0; pattern < 16; ++pattern) {
            float sum = 0.0f;
            for (size_t bit = 0; bit < 4; ++bit) {
                const float weight = weights[4 * n + bit];
                const bool on = (pattern >> bit & 1) != 0;
                if (on == (weight > 0.0f)) sum += 2.0f * std::abs(weight);
            }
            table[pattern] = table[pattern + 16] = static_cast<uint8_t>(std::min(127.0f, sum / step + 0.5f));
        }
    }
    return {scratch.low.data(), scratch.high.data(), step, base};
}

// Keeps the best candidates: a list of up to twice as many as wanted, cut down when it is full.
class Candidates {
 public:
    Candidates(std::vector<std::pair<float, int32_t>>& found, size_t wanted) : found_(found), wanted_(wanted) {
        found_.clear();
        found_.reserve(2 * wanted);
    }
    float limit() const { return limit_; }
    void add(float estimate, int32_t id) {
        found_.emplace_back(estimate, id);
        if (found_.size() == 2 * wanted_) cut();
    }
    void cut() {
        if (found_.size() <= wanted_) return;
        std::nth_element(found_.begin(), found_.begin() + static_cast<long>(wanted_) - 1, found_.end(), Better());
        found_.resize(wanted_);
        limit_ = found_.back().first;
    }

 private:
    std::vector<std::pair<float, int32_t>>& found_;
    size_t wanted_;
    float limit_ = kNever;
};

void scan_cell(const Index& index, size_t cell, float product, const Tables& tables, Candidates& candidates) {
    float estimates[kBlock];
    const Scales scales{{index.scales[0], index.scales[1]}, {index.scales[2], index.scales[3]}};
    for (int64_t block = index.starts[cell]; block < index.starts[cell + 1]; ++block) {
        const size_t first = static_cast<size_t>(block) * kBlock;
        const Block places{index.codes + first * index.bytes, index.factors + first, index.shifts + first};
        if (!estimate(places, index.bytes, tables, scales, product, candidates.limit(), estimates)) continue;
        for (size_t i = 0; i < kBlock; ++i)
            if (estimates[i] >= candidates.limit() && index.ids[first + i] >= 0)
                candidates.add(estimates[i], index.ids[first + i]);
    }
}

// A query with its products with the centers and with the sign vectors.
struct Query {
    const float *vector, *products, *weights;
};

void search_one(const Index& index, const Request& request, const Query& query, int64_t* ids, float* scores,
                Scratch& scratch) {
    scratch.order.resize(index.n_cells);
    std::iota(scratch.order.begin(), scratch.order.end(), 0);
    const size_t probes = std::min(request.probes, index.n_cells);
    std::partial_sort(scratch.order.begin(), scratch.order.begin() + static_cast<long>(probes), scratch.order.end(),
                      [&](int32_t a, int32_t b) {
                          const float left = query.products[a];
                          const float right = query.products[b];
                          return left != right ? left > right : a < b;
                      });
    const Tables tables = fill_tables(query.weights, index.bytes, scratch);
    Candidates candidates(scratch.found, request.candidates);
    for (size_t probe = 0; probe < probes; ++probe) {
        const size_t cell = static_cast<size_t>(scratch.order[probe]);
        scan_cell(index, cell, query.products[cell], tables, candidates);
    }
    candidates.cut();
    for (const auto& [estimate, id] : scratch.found)
        STHASH_PREFETCH(index.vectors + static_cast<size_t>(id) * index.dimension);
    for (auto& [score, id] : scratch.found)
        score = dot(query.vector, index.vectors + static_cast<size_t>(id) * index.dimension, index.dimension);
    const size_t kept = std::min(request.k, scratch.found.size());
    std::partial_sort(scratch.found.begin(), scratch.found.begin() + static_cast<long>(kept), scratch.found.end(),
                      Better());
    for (size_t i = 0; i < request.k; ++i) {
        ids[i] = i < kept ? scratch.found[i].second : -1;
        scores[i] = i < kept ? scratch.found[i].first : kNever;
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
        own.products.resize(count * index.n_cells);
        own.weights.resize(count * bits);
        quantizer::multiply_rows(vectors, count, index.dimension, index.centers, index.n_cells, own.products.data());
        quantizer::multiply_rows(vectors, count, index.dimension, index.signs, bits, own.weights.data());
        for (size_t q = 0; q < count; ++q) {
            const Query query{vectors + q * index.dimension, own.products.data() + q * index.n_cells,
                              own.weights.data() + q * bits};
            const size_t place = (first + q) * request.k;
            search_one(index, request, query, ids + place, scores + place, own);
        }
    });
}

}  // namespace sthash::cells
