#include "collection/reranking.hpp"

#include <algorithm>
#include <bit>

namespace sthash {

namespace {

SparseRow vector_at(const PackedView& vectors, int64_t place) {
    const int64_t start = vectors.starts[place], size = (vectors.ends[place] - start) / 2;
    return {vectors.content + start, reinterpret_cast<const float*>(vectors.content + start + size),
            static_cast<long>(size)};
}

// The vectors of the seeds, by column. A hash table finds a column, because an array of all columns would have to be
// cleared for every query.
class SeedColumns {
 public:
    void set(const PackedView& vectors, const int64_t* places, size_t count) {
        size_t entries = 0;
        for (size_t seed = 0; seed < count; ++seed)
            entries += static_cast<size_t>(vector_at(vectors, places[seed]).size);
        const size_t capacity = std::bit_ceil(std::max<size_t>(2 * entries, 64));
        shift_ = 64 - std::countr_zero(capacity);
        slots_.assign(capacity, {-1, 0});
        ends_.assign(1, 0);
        entries_.resize(entries);
        for (size_t seed = 0; seed < count; ++seed) {
            const SparseRow row = vector_at(vectors, places[seed]);
            for (long at = 0; at < row.size; ++at) {
                Slot& slot = slot_of(row.indices[at]);
                if (slot.column < 0) {
                    slot = {row.indices[at], static_cast<uint32_t>(ends_.size() - 1)};
                    ends_.push_back(0);
                }
                ++ends_[slot.list + 1];
            }
        }
        for (size_t list = 1; list < ends_.size(); ++list) ends_[list] += ends_[list - 1];
        filled_.assign(ends_.begin(), ends_.end() - 1);
        choose_dense(count);
        for (size_t seed = 0; seed < count; ++seed) {
            const SparseRow row = vector_at(vectors, places[seed]);
            for (long at = 0; at < row.size; ++at) {
                const uint32_t list = slot_of(row.indices[at]).list;
                if (dense_at_[list] >= 0)
                    dense_[static_cast<size_t>(dense_at_[list]) * count + seed] = row.values[at];
                else
                    entries_[filled_[list]++] = {static_cast<int32_t>(seed), row.values[at]};
            }
        }
    }

    // Adds the inner product of a vector with each seed. The order of the additions is that of the columns.
    void add_products(const SparseRow& row, float* products) const {
        for (long at = 0; at < row.size; ++at) {
            const Slot& slot = slot_of(row.indices[at]);
            if (slot.column < 0) continue;
            const float value = row.values[at];
            if (dense_at_[slot.list] >= 0) {
                const float* values = dense_.data() + static_cast<size_t>(dense_at_[slot.list]) * count_;
                for (size_t seed = 0; seed < count_; ++seed) products[seed] += value * values[seed];
                continue;
            }
            for (uint32_t entry = ends_[slot.list]; entry < ends_[slot.list + 1]; ++entry)
                products[entries_[entry].seed] += value * entries_[entry].value;
        }
    }

 private:
    struct Slot {
        int32_t column;  // -1 if the slot is free
        uint32_t list;
    };
    struct Entry {
        int32_t seed;
        float value;
    };

    // A column that a sixth of the seeds have is kept with its zeros: it is faster to add them than to jump.
    void choose_dense(size_t count) {
        count_ = count;
        int32_t n_dense = 0;
        dense_at_.assign(filled_.size(), -1);
        for (size_t list = 0; list < filled_.size(); ++list)
            if (6 * (ends_[list + 1] - ends_[list]) >= count) dense_at_[list] = n_dense++;
        dense_.assign(static_cast<size_t>(n_dense) * count, 0);
    }

    const Slot& slot_of(int32_t column) const {
        size_t at = (static_cast<uint64_t>(static_cast<uint32_t>(column)) * 0x9E3779B97F4A7C15u) >> shift_;
        while (slots_[at].column >= 0 && slots_[at].column != column) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    Slot& slot_of(int32_t column) { return const_cast<Slot&>(static_cast<const SeedColumns*>(this)->slot_of(column)); }

    int shift_ = 0;
    std::vector<Slot> slots_;
    std::vector<uint32_t> ends_, filled_;
    std::vector<Entry> entries_;
    size_t count_ = 0;
    std::vector<int32_t> dense_at_;  // per list, its row of `dense_`, or -1
    std::vector<float> dense_;       // rows of values per seed
};

// A seed and its cosine, which is positive, as one number: the nearer the greater, then the earlier the greater. The
// bits of positive floats are in their order.
using Neighbor = uint64_t;

Neighbor neighbor(float cosine, size_t seed) {
    return uint64_t{std::bit_cast<uint32_t>(cosine)} << 32 | static_cast<uint32_t>(~seed);
}

// Ranks the hits of one query after the other; one object per thread.
class Reranker {
 public:
    Reranker(const PackedView& vectors, const Reranking& how) : vectors_(vectors), how_(how) {}

    // The first `count` places and scores are the hits; the answer is written behind `to_places` and `to_scores`.
    void rank(const int64_t* places, const float* scores, size_t count, int64_t* to_places, float* to_scores) {
        const size_t n_seeds = std::min(how_.seeds, count);
        seeds_.set(vectors_, places, n_seeds);
        ranked_.clear();
        similarity_.clear();
        double most = 0;
        for (size_t hit = 0; hit < count; ++hit) {
            cosines_.assign(n_seeds, 0);
            seeds_.add_products(vector_at(vectors_, places[hit]), cosines_.data());
            if (hit < n_seeds) cosines_[hit] = 0;  // nobody is a neighbor of oneself
            const double own = scores[hit], around = mean_of_neighbors(scores, own);
            ranked_.push_back({(1 - how_.smoothing) * own + how_.smoothing * around, places[hit]});
            similarity_.push_back(likeness(scores, hit));
            if (hit < n_seeds) most = std::max(most, similarity_.back());
        }
        if (most > 0 && how_.feedback > 0)
            for (size_t hit = 0; hit < count; ++hit)
                ranked_[hit].score =
                    (1 - how_.feedback) * ranked_[hit].score + how_.feedback * (scores[0] * (similarity_[hit] / most));
        std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
            return a.score != b.score ? a.score > b.score : a.place < b.place;
        });
        for (size_t rank = 0; rank < count; ++rank) {
            to_places[rank] = ranked_[rank].place;
            to_scores[rank] = static_cast<float>(ranked_[rank].score);
        }
    }

 private:
    struct Ranked {
        double score;
        int64_t place;
    };

    // The mean score of the nearest seeds, weighted by their cosines; of equal cosines the earlier seed is nearer.
    double mean_of_neighbors(const float* scores, double own) {
        nearest_.clear();
        const size_t most = std::min(how_.neighbors, cosines_.size());
        for (size_t seed = 0; seed < cosines_.size() && most > 0; ++seed) {
            if (!(cosines_[seed] > 0)) continue;
            const Neighbor near = neighbor(cosines_[seed], seed);
            if (nearest_.size() == most) {
                if (near < nearest_.back()) continue;
                nearest_.pop_back();
            }
            size_t at = nearest_.size();
            nearest_.push_back(near);
            for (; at > 0 && nearest_[at - 1] < near; --at) nearest_[at] = nearest_[at - 1];
            nearest_[at] = near;
        }
        double sum = 0, weights = 0;
        for (Neighbor near : nearest_) {
            const size_t seed = ~static_cast<uint32_t>(near);
            sum += static_cast<double>(cosines_[seed]) * scores[seed];
            weights += cosines_[seed];
        }
        return weights > 0 ? sum / weights : own;
    }

    // The mean cosine with the first hits, without the hit itself, weighted by their scores.
    double likeness(const float* scores, size_t hit) const {
        double sum = 0, weights = 0;
        for (size_t first = 0; first < std::min(how_.feedback_documents, cosines_.size()); ++first) {
            if (first == hit) continue;
            sum += static_cast<double>(scores[first]) * cosines_[first];
            weights += scores[first];
        }
        return weights > 0 ? sum / weights : 0;
    }

    const PackedView& vectors_;
    const Reranking& how_;
    SeedColumns seeds_;
    std::vector<float> cosines_;
    std::vector<Neighbor> nearest_;
    std::vector<Ranked> ranked_;
    std::vector<double> similarity_;
};

}  // namespace

RerankedHits rerank(const PackedView& vectors, const HitsView& hits, const Reranking& how, int threads,
                    StopFlag& stop) {
    RerankedHits answer{std::vector<int64_t>(hits.count * hits.width, -1), std::vector<float>(hits.count * hits.width)};
    parallel_for(hits.count, 8, threads, stop, [&](size_t begin, size_t end, int) {
        Reranker reranker(vectors, how);
        for (size_t query = begin; query < end && !stop.load(std::memory_order_relaxed); ++query) {
            const size_t first = query * hits.width;
            const int64_t* places = hits.places + first;
            const size_t count = static_cast<size_t>(std::find(places, places + hits.width, -1) - places);
            reranker.rank(places, hits.scores + first, count, answer.places.data() + first,
                          answer.scores.data() + first);
        }
    });
    return answer;
}

}  // namespace sthash
