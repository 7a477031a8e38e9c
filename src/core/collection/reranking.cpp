#include "collection/reranking.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>

#include "compiler.hpp"

namespace sthash {

namespace {

SparseRow vector_at(const PackedView& vectors, int64_t place) {
    const int64_t start = vectors.starts[place], size = (vectors.ends[place] - start) / 2;
    return {vectors.content + start, reinterpret_cast<const float*>(vectors.content + start + size),
            static_cast<long>(size)};
}

// Columns of a vector that a seed has too: the number of the column's list, and the vector's value.
struct Match {
    uint32_t list;
    float value;
};

// For each column the number of its list, 0 for none. It has space for all columns, of which few are set at a time, and
// is kept for the next query of the thread: memory that nobody touches costs nothing, and clearing it all would.
class ColumnMap {
 public:
    // All columns are free afterwards, if the caller has freed those that it has set.
    void reserve(size_t n_columns) {
        if (n_columns <= size_) return;
        lists_.reset(static_cast<uint32_t*>(std::calloc(n_columns, sizeof(uint32_t))));
        size_ = lists_ ? n_columns : 0;
        if (!lists_) throw std::bad_alloc();
    }
    uint32_t& operator[](int32_t column) { return lists_.get()[column]; }
    uint32_t operator[](int32_t column) const { return lists_.get()[column]; }

 private:
    struct Free {
        void operator()(uint32_t* memory) const { std::free(memory); }
    };
    std::unique_ptr<uint32_t, Free> lists_;
    size_t size_ = 0;
};

// The vectors of the seeds, by column: a list of entries for each column. Columns without one have list 0, which is
// empty.
class SeedColumns {
 public:
    // `weights` are those of the first vectors, which make up the centroid.
    void set(const PackedView& vectors, const int64_t* places, size_t count, const float* weights, size_t n_weights) {
        size_t entries = 0;
        for (size_t seed = 0; seed < count; ++seed) {
            const SparseRow row = vector_at(vectors, places[seed]);
            entries += static_cast<size_t>(row.size);
            // The vectors are anywhere in memory.
            for (const int32_t* at = row.indices; at < row.indices + 2 * row.size; at += 16) STHASH_PREFETCH(at);
        }
        clear();
        map_.reserve(vectors.n_columns);
        ends_.assign(2, 0);
        entries_.resize(entries);
        lists_.clear();
        lists_.reserve(entries);
        for (size_t seed = 0; seed < count; ++seed) {
            const SparseRow row = vector_at(vectors, places[seed]);
            for (long at = 0; at < row.size; ++at) {
                uint32_t& list = map_[row.indices[at]];
                if (list == 0) {
                    list = static_cast<uint32_t>(ends_.size() - 1);
                    ends_.push_back(0);
                    columns_.push_back(row.indices[at]);
                }
                ++ends_[list + 1];
                lists_.push_back(list);
            }
        }
        for (size_t list = 1; list < ends_.size(); ++list) ends_[list] += ends_[list - 1];
        filled_.assign(ends_.begin(), ends_.end() - 1);
        centroid_.assign(filled_.size(), 0);
        choose_dense(count);
        const uint32_t* list = lists_.data();
        for (size_t seed = 0; seed < count; ++seed) {
            const SparseRow row = vector_at(vectors, places[seed]);
            for (long at = 0; at < row.size; ++at, ++list) {
                if (dense_at_[*list] >= 0)
                    dense_[static_cast<size_t>(dense_at_[*list]) * stride_ + seed] = row.values[at];
                else
                    entries_[filled_[*list]++] = {static_cast<int32_t>(seed), row.values[at]};
                if (seed < n_weights) centroid_[*list] += static_cast<double>(weights[seed]) * row.values[at];
            }
        }
    }

    // Appends the columns that seeds have too. Returns the inner product with the centroid.
    double match(const SparseRow& row, std::vector<Match>& matches) const {
        double product = 0;
        const size_t before = matches.size();
        matches.resize(before + static_cast<size_t>(row.size));
        Match* to = matches.data() + before;
        for (long at = 0; at < row.size; ++at) {
            const uint32_t list = map_[row.indices[at]];
            *to = {list, row.values[at]};
            to += list != 0;
            product += centroid_[list] * row.values[at];
        }
        matches.resize(static_cast<size_t>(to - matches.data()));
        return product;
    }

    // Adds the inner product of a vector with each seed; there are `stride` sums. The order of the additions is that of
    // the columns.
    void add_products(const Match* begin, const Match* end, float* products) const {
        for (const Match* match = begin; match < end; ++match) {
            const float value = match->value;
            if (dense_at_[match->list] >= 0) {
                const float* values = dense_.data() + static_cast<size_t>(dense_at_[match->list]) * stride_;
                for (size_t seed = 0; seed < stride_; seed += kStep)
                    for (size_t lane = 0; lane < kStep; ++lane) products[seed + lane] += value * values[seed + lane];
                continue;
            }
            for (uint32_t entry = ends_[match->list]; entry < ends_[match->list + 1]; ++entry)
                products[entries_[entry].seed] += value * entries_[entry].value;
        }
    }

    double centroid_norm() const {
        double squares = 0;
        for (double value : centroid_) squares += value * value;
        return std::sqrt(squares);
    }

    // The number of seeds, rounded up for whole vectors of the processor.
    size_t stride() const { return stride_; }

    // To be called after the last query.
    void clear() {
        for (int32_t column : columns_) map_[column] = 0;
        columns_.clear();
    }

 private:
    static constexpr size_t kStep = 8;
    struct Entry {
        int32_t seed;
        float value;
    };

    // A column that a sixteenth of the seeds have is kept with its zeros: it is faster to add them than to jump.
    void choose_dense(size_t count) {
        stride_ = (count + kStep - 1) / kStep * kStep;
        int32_t n_dense = 0;
        dense_at_.assign(filled_.size(), -1);
        for (size_t list = 0; list < filled_.size(); ++list)
            if (16 * (ends_[list + 1] - ends_[list]) >= count) dense_at_[list] = n_dense++;
        dense_.assign(static_cast<size_t>(n_dense) * stride_, 0);
    }

    ColumnMap map_;
    std::vector<int32_t> columns_;  // that are set in the map
    std::vector<uint32_t> ends_, filled_, lists_;
    std::vector<Entry> entries_;
    size_t stride_ = 0;
    std::vector<int32_t> dense_at_;  // per list, its row of `dense_`, or -1
    std::vector<float> dense_;       // rows of values per seed
    std::vector<double> centroid_;   // per list
};

thread_local SeedColumns columns_of_thread;

// A seed and its cosine, which is positive, as one number: the nearer the greater, then the earlier the greater. The
// bits of positive floats are in their order.
using Neighbor = uint64_t;

Neighbor neighbor(float cosine, size_t seed) {
    return uint64_t{std::bit_cast<uint32_t>(cosine)} << 32 | static_cast<uint32_t>(~seed);
}

// Ranks the hits of one query after the other; one object per thread.
class Reranker {
 public:
    Reranker(const PackedView& vectors, const Reranking& how, size_t k) : vectors_(vectors), how_(how), k_(k) {}
    Reranker(const Reranker&) = delete;
    ~Reranker() { seeds_.clear(); }

    // The first `count` places and scores are the hits; the k best are written to `to_places` and `to_scores`.
    void rank(const int64_t* places, const float* scores, size_t count, int64_t* to_places, float* to_scores) {
        const size_t n_seeds = std::min(how_.seeds, count), n_first = std::min(how_.feedback_documents, n_seeds);
        seeds_.set(vectors_, places, n_seeds, scores, n_first);
        matches_.clear();
        ends_.assign(1, 0);
        similarity_.clear();
        weights_ = 0;
        for (size_t first = 0; first < n_first; ++first) weights_ += scores[first];
        for (size_t seed = 0; seed < n_seeds; ++seed) match(places[seed]);
        for (size_t first = 0; first < n_first; ++first) similarity_[first] = likeness(scores, first, n_first, n_seeds);
        double most = 0, best = 0;
        for (size_t seed = 0; seed < n_seeds; ++seed) {
            most = std::max(most, similarity_[seed]);
            best = std::max(best, static_cast<double>(scores[seed]));
        }
        const bool gives_feedback = most > 0 && how_.feedback > 0;
        const auto score = [&](double own, double around, double similarity) {
            const double smooth = (1 - how_.smoothing) * own + how_.smoothing * around;
            if (!gives_feedback) return smooth;
            return (1 - how_.feedback) * smooth + how_.feedback * (scores[0] * (similarity / most));
        };
        // A hit is passed over if it would not be among the k best, even if its neighbors had the best score. Those
        // after the seeds need not be looked at if that holds even for the vector that is nearest to the first hits.
        const double nearest = weights_ > 0 ? seeds_.centroid_norm() / weights_ : 0;
        ranked_.clear();
        for (size_t hit = 0; hit < count; ++hit) {
            const bool full = ranked_.size() == k_;
            const double own = scores[hit], around = std::max(own, best);
            const double least = full ? ranked_.front().score * (1 - kRounding) : 0;
            if (hit >= n_seeds) {
                if (full && score(own, around, nearest) < least) {
                    similarity_.push_back(0);
                    ends_.push_back(matches_.size());
                    continue;
                }
                if (hit + 2 * kAhead < count) STHASH_PREFETCH(vectors_.starts + places[hit + 2 * kAhead]);
                if (hit + 2 * kAhead < count) STHASH_PREFETCH(vectors_.ends + places[hit + 2 * kAhead]);
                if (hit + kAhead < count) prefetch(places[hit + kAhead]);
                match(places[hit]);
            }
            if (full && score(own, around, similarity_[hit]) < least) continue;
            products_of(hit, n_seeds);
            const Ranked found{score(own, mean_of_neighbors(scores, n_seeds, own), similarity_[hit]), places[hit]};
            if (full) {
                if (!precedes(found, ranked_.front())) continue;
                std::pop_heap(ranked_.begin(), ranked_.end(), precedes);
                ranked_.pop_back();
            }
            ranked_.push_back(found);
            std::push_heap(ranked_.begin(), ranked_.end(), precedes);
        }
        std::sort_heap(ranked_.begin(), ranked_.end(), precedes);
        for (size_t rank = 0; rank < ranked_.size(); ++rank) {
            to_places[rank] = ranked_[rank].place;
            to_scores[rank] = static_cast<float>(ranked_[rank].score);
        }
    }

 private:
    struct Ranked {
        double score;
        int64_t place;
    };
    static constexpr double kRounding = 1e-9;
    static constexpr size_t kAhead = 6;

    static bool precedes(const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score > b.score : a.place < b.place;
    }

    void prefetch(int64_t place) const {  // the vectors are anywhere in memory
        const SparseRow row = vector_at(vectors_, place);
        for (const int32_t* at = row.indices; at < row.indices + 2 * row.size; at += 16) STHASH_PREFETCH(at);
    }

    // Looks up the columns of the next hit, and its mean cosine with the first hits, weighted by their scores.
    void match(int64_t place) {
        const double product = seeds_.match(vector_at(vectors_, place), matches_);
        ends_.push_back(matches_.size());
        similarity_.push_back(weights_ > 0 ? product / weights_ : 0);
    }

    // The same of one of the first hits, without itself.
    double likeness(const float* scores, size_t hit, size_t n_first, size_t n_seeds) {
        products_of(hit, n_seeds);
        double sum = 0, others = 0;
        for (size_t first = 0; first < n_first; ++first) {
            if (first == hit) continue;
            sum += static_cast<double>(scores[first]) * cosines_[first];
            others += scores[first];
        }
        return others > 0 ? sum / others : 0;
    }

    // The cosines of a hit with the seeds; nobody is a neighbor of oneself.
    void products_of(size_t hit, size_t n_seeds) {
        cosines_.assign(seeds_.stride(), 0);
        seeds_.add_products(matches_.data() + ends_[hit], matches_.data() + ends_[hit + 1], cosines_.data());
        if (hit < n_seeds) cosines_[hit] = 0;
    }

    // The mean score of the nearest seeds, weighted by their cosines; of equal cosines the earlier seed is nearer.
    double mean_of_neighbors(const float* scores, size_t n_seeds, double own) {
        nearest_.clear();
        const size_t most = std::min(how_.neighbors, n_seeds);
        float least = 0;
        for (size_t seed = 0; seed < n_seeds && most > 0; ++seed) {
            if (!(cosines_[seed] > least)) continue;
            if (nearest_.size() == most) nearest_.pop_back();
            const Neighbor near = neighbor(cosines_[seed], seed);
            size_t at = nearest_.size();
            nearest_.push_back(near);
            for (; at > 0 && nearest_[at - 1] < near; --at) nearest_[at] = nearest_[at - 1];
            nearest_[at] = near;
            if (nearest_.size() == most) least = std::bit_cast<float>(static_cast<uint32_t>(nearest_.back() >> 32));
        }
        double sum = 0, weights = 0;
        for (Neighbor near : nearest_) {
            const size_t seed = ~static_cast<uint32_t>(near);
            sum += static_cast<double>(cosines_[seed]) * scores[seed];
            weights += cosines_[seed];
        }
        return weights > 0 ? sum / weights : own;
    }

    const PackedView& vectors_;
    const Reranking& how_;
    const size_t k_;
    double weights_ = 0;  // of the first hits
    SeedColumns& seeds_ = columns_of_thread;
    std::vector<Match> matches_;
    std::vector<size_t> ends_;  // of the matches per hit
    std::vector<float> cosines_;
    std::vector<Neighbor> nearest_;
    std::vector<Ranked> ranked_;
    std::vector<double> similarity_;
};

}  // namespace

RerankedHits rerank(const PackedView& vectors, const HitsView& hits, const Reranking& how, size_t k, int threads,
                    StopFlag& stop) {
    RerankedHits answer{std::vector<int64_t>(hits.count * k, -1), std::vector<float>(hits.count * k)};
    if (k == 0) return answer;
    parallel_for(hits.count, 8, threads, stop, [&](size_t begin, size_t end, int) {
        Reranker reranker(vectors, how, k);
        for (size_t query = begin; query < end && !stop.load(std::memory_order_relaxed); ++query) {
            const size_t first = query * hits.width;
            const int64_t* places = hits.places + first;
            const size_t count = static_cast<size_t>(std::find(places, places + hits.width, -1) - places);
            reranker.rank(places, hits.scores + first, count, answer.places.data() + query * k,
                          answer.scores.data() + query * k);
        }
    });
    return answer;
}

}  // namespace sthash
