#include "collection/reranking.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "simd.hpp"
#if STHASH_X86
#include <immintrin.h>
#endif

namespace sthash {

// Inner loops.
struct RerankingKernels {
    // Adds `factor` times each value to the sum at its place. `count` is a multiple of 16.
    void (*add_row)(const float* values, float factor, long count, float* sums);
    // The inner product of a sparse vector with a dense one, whose terms are added in any order. It is off by at most
    // (count + 2) 2^-24 times the product of their lengths.
    float (*inner_product)(const int32_t* columns, const float* values, long count, const float* dense);
};

}  // namespace sthash

#define STHASH_KERNELS "collection/reranking.inc"
#define STHASH_FAMILY reranking_kernels
#include "each_path.inc"

#include "compiler.hpp"

namespace sthash {

namespace {

// More than a float is off by, as a share of it.
constexpr double kRounding = 1e-7;

SparseRow vector_at(const PackedView& vectors, int64_t place) {
    const int64_t start = vectors.starts[place], size = (vectors.ends[place] - start) / 2;
    return {vectors.content + start, reinterpret_cast<const float*>(vectors.content + start + size),
            static_cast<long>(size)};
}

// Asks for a vector, which may be anywhere in memory, before it is needed.
void prefetch(const PackedView& vectors, int64_t place) {
    const SparseRow row = vector_at(vectors, place);
    for (const int32_t* at = row.indices; at < row.indices + 2 * row.size; at += 16) STHASH_PREFETCH(at);
}

// Columns of a vector that a seed has too: the number of the column's list, and the vector's value.
struct Match {
    uint32_t list;
    float value;
};

// A value per column, 0 where none is set. It has space for all columns, of which few are set at a time, and is kept
// for the next query of the thread: memory that nobody touches costs nothing, and clearing it all would.
template <class T>
class ColumnMap {
 public:
    // All columns are 0 afterwards, if the caller has cleared those that it has set.
    void reserve(size_t n_columns) {
        if (n_columns <= size_) return;
        values_.reset(static_cast<T*>(std::calloc(n_columns, sizeof(T))));
        size_ = values_ ? n_columns : 0;
        if (!values_) throw std::bad_alloc();
    }
    T& operator[](int32_t column) { return values_.get()[column]; }
    const T& operator[](int32_t column) const { return values_.get()[column]; }
    const T* data() const { return values_.get(); }

 private:
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    std::unique_ptr<T, Free> values_;
    size_t size_ = 0;
};

// The vectors of the seeds, by column: a list of entries for each column. Columns without one have list 0, which is
// empty.
class SeedColumns {
 public:
    // `weights` are those of the first vectors, which make up the centroid.
    void set(const PackedView& vectors, const int64_t* places, size_t count, const float* weights, size_t n_weights) {
        kernels_ = &STHASH_PICK(reranking_kernels::table);
        size_t entries = 0;
        for (size_t seed = 0; seed < count; ++seed) {
            entries += static_cast<size_t>(vector_at(vectors, places[seed]).size);
            prefetch(vectors, places[seed]);
        }
        clear();
        map_.reserve(vectors.n_columns);
        dense_centroid_.reserve(vectors.n_columns);
        entries_.resize(entries);
        matches_.resize(entries);
        columns_.resize(entries);
        ends_.assign(entries + 2, 0);
        bounds_.assign(1, 0);
        Match* match = matches_.data();
        uint32_t last = 0;
        for (size_t seed = 0; seed < count; ++seed) {
            const SparseRow row = vector_at(vectors, places[seed]);
            for (long at = 0; at < row.size; ++at) {
                uint32_t list = map_[row.indices[at]];
                if (list == 0) {
                    columns_[last] = row.indices[at];
                    map_[row.indices[at]] = list = ++last;
                }
                ++ends_[list + 1];
                *match++ = {list, row.values[at]};
            }
            bounds_.push_back(static_cast<size_t>(match - matches_.data()));
        }
        columns_.resize(last);
        ends_.resize(last + 2);
        for (size_t list = 1; list < ends_.size(); ++list) ends_[list] += ends_[list - 1];
        filled_.assign(ends_.begin(), ends_.end() - 1);
        choose_dense(count);
        for (size_t seed = 0; seed < count; ++seed)
            for (const Match& own : of_seed(seed)) {
                if (dense_at_[own.list] >= 0)
                    dense_[static_cast<size_t>(dense_at_[own.list]) * stride_ + seed] = own.value;
                else
                    entries_[filled_[own.list]++] = {static_cast<int32_t>(seed), own.value};
            }
        set_centroid(weights, n_weights);
    }

    // The columns of a seed.
    std::span<const Match> of_seed(size_t seed) const {
        return {matches_.data() + bounds_[seed], matches_.data() + bounds_[seed + 1]};
    }

    // The columns of a vector that seeds have too.
    void match(const SparseRow& row, std::vector<Match>& matches) const {
        matches.resize(static_cast<size_t>(row.size));
        Match* to = matches.data();
        for (long at = 0; at < row.size; ++at) {
            const uint32_t list = map_[row.indices[at]];
            *to = {list, row.values[at]};
            to += list != 0;
        }
        matches.resize(static_cast<size_t>(to - matches.data()));
    }

    // The inner product with the centroid.
    double centroid_product(std::span<const Match> matches) const {
        double product = 0;
        for (const Match& match : matches) product += centroid_[match.list] * match.value;
        return product;
    }

    // At least as much, for less work; the vector has unit length.
    double most_product(const SparseRow& row) const {
        const float product = kernels_->inner_product(row.indices, row.values, row.size, dense_centroid_.data());
        return static_cast<double>(product) + kRounding * static_cast<double>(row.size + 2) * centroid_norm_;
    }

    // Adds the inner product of a vector with each seed; there are `stride` sums. The order of the additions is that of
    // the columns.
    void add_products(std::span<const Match> matches, float* products) const {
        for (const Match& match : matches) {
            if (dense_at_[match.list] >= 0) {
                const float* values = dense_.data() + static_cast<size_t>(dense_at_[match.list]) * stride_;
                kernels_->add_row(values, match.value, static_cast<long>(stride_), products);
                continue;
            }
            for (uint32_t entry = ends_[match.list]; entry < ends_[match.list + 1]; ++entry)
                products[entries_[entry].seed] += match.value * entries_[entry].value;
        }
    }

    double centroid_norm() const { return centroid_norm_; }

    // The number of seeds, rounded up for whole vectors of the processor.
    size_t stride() const { return stride_; }

    // To be called after the last query.
    void clear() {
        for (int32_t column : columns_) {
            map_[column] = 0;
            dense_centroid_[column] = 0;
        }
        columns_.clear();
    }

 private:
    static constexpr size_t kStep = 16;
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

    void set_centroid(const float* weights, size_t n_weights) {
        centroid_.assign(filled_.size(), 0);
        size_t lists = 1;  // lists are numbered in the order in which their columns come
        for (size_t seed = 0; seed < n_weights; ++seed)
            for (const Match& own : of_seed(seed)) {
                centroid_[own.list] += static_cast<double>(weights[seed]) * own.value;
                lists = std::max<size_t>(lists, own.list + 1);
            }
        double squares = 0;
        for (size_t list = 1; list < lists; ++list) {
            squares += centroid_[list] * centroid_[list];
            dense_centroid_[columns_[list - 1]] = static_cast<float>(centroid_[list]);
        }
        centroid_norm_ = std::sqrt(squares);
    }

    const RerankingKernels* kernels_ = nullptr;
    ColumnMap<uint32_t> map_;  // the number of the column's list
    ColumnMap<float> dense_centroid_;
    std::vector<int32_t> columns_;  // that are set in the maps
    std::vector<uint32_t> ends_, filled_;
    std::vector<Entry> entries_;
    std::vector<Match> matches_;  // of all seeds
    std::vector<size_t> bounds_;  // of the matches per seed
    size_t stride_ = 0;
    std::vector<int32_t> dense_at_;  // per list, its row of `dense_`, or -1
    std::vector<float> dense_;       // rows of values per seed
    std::vector<double> centroid_;   // per list
    double centroid_norm_ = 0;
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
        for (size_t hit = n_seeds; hit < std::min(count, n_seeds + kAhead); ++hit) prefetch(vectors_, places[hit]);
        weights_ = 0;
        for (size_t first = 0; first < n_first; ++first) weights_ += scores[first];
        similarity_.resize(n_seeds);
        for (size_t seed = 0; seed < n_seeds; ++seed)
            similarity_[seed] = seed < n_first ? likeness(scores, seed, n_first) : similarity(seeds_.of_seed(seed));
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
        // A hit is passed over if it would not be among the k best, even if its neighbors had the best score. Most of
        // those after the seeds are known by a bound of their similarity. They come by falling score, so the first that
        // would not be among the best even if it were as near to the first hits as a vector can be is the last to look
        // at.
        const double nearest = weights_ > 0 ? seeds_.centroid_norm() * (1 + kRounding) / weights_ : 0;
        ranked_.clear();
        for (size_t hit = 0; hit < count; ++hit) {
            const bool full = ranked_.size() == k_;
            const double own = scores[hit], around = std::max(own, best);
            const double least = full ? ranked_.front().score * (1 - kSlack) : 0;
            std::span<const Match> matches;
            double own_similarity = 0;
            if (hit < n_seeds) {
                matches = seeds_.of_seed(hit);
                own_similarity = similarity_[hit];
            } else {
                if (full && score(own, around, nearest) < least) break;
                if (hit + 2 * kAhead < count) STHASH_PREFETCH(vectors_.starts + places[hit + 2 * kAhead]);
                if (hit + 2 * kAhead < count) STHASH_PREFETCH(vectors_.ends + places[hit + 2 * kAhead]);
                if (hit + kAhead < count) prefetch(vectors_, places[hit + kAhead]);
                const SparseRow row = vector_at(vectors_, places[hit]);
                if (full && score(own, around, weights_ > 0 ? seeds_.most_product(row) / weights_ : 0) < least)
                    continue;
                seeds_.match(row, matches_);
                matches = matches_;
                own_similarity = similarity(matches);
            }
            if (full && score(own, around, own_similarity) < least) continue;
            products_of(matches, hit, n_seeds);
            const Ranked found{score(own, mean_of_neighbors(scores, n_seeds, own), own_similarity), places[hit]};
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
    static constexpr double kSlack = 1e-9;
    static constexpr size_t kAhead = 8;

    static bool precedes(const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score > b.score : a.place < b.place;
    }

    // The mean cosine with the first hits, weighted by their scores.
    double similarity(std::span<const Match> matches) const {
        return weights_ > 0 ? seeds_.centroid_product(matches) / weights_ : 0;
    }

    // The same of one of the first hits, without itself.
    double likeness(const float* scores, size_t hit, size_t n_first) {
        products_of(seeds_.of_seed(hit), hit, n_first);
        double sum = 0, others = 0;
        for (size_t first = 0; first < n_first; ++first) {
            if (first == hit) continue;
            sum += static_cast<double>(scores[first]) * cosines_[first];
            others += scores[first];
        }
        return others > 0 ? sum / others : 0;
    }

    // The cosines of a hit with the seeds; nobody is a neighbor of oneself.
    void products_of(std::span<const Match> matches, size_t hit, size_t n_seeds) {
        cosines_.assign(seeds_.stride(), 0);
        seeds_.add_products(matches, cosines_.data());
        if (hit < n_seeds) cosines_[hit] = 0;
    }

    // The mean score of the nearest seeds, weighted by their cosines; of equal cosines the earlier seed is nearer.
    double mean_of_neighbors(const float* scores, size_t n_seeds, double own) {
        const size_t most = std::min(how_.neighbors, n_seeds);
        if (most == 0) return own;
        nearest_.resize(most);
        Neighbor* const nearest = nearest_.data();
        const float* const cosines = cosines_.data();
        size_t held = 0;
        float least = 0;
        for (size_t seed = 0; seed < n_seeds; ++seed) {
            if (!(cosines[seed] > least)) continue;
            const Neighbor near = neighbor(cosines[seed], seed);
            size_t at = held < most ? held++ : most - 1;
            for (; at > 0 && nearest[at - 1] < near; --at) nearest[at] = nearest[at - 1];
            nearest[at] = near;
            if (held == most) least = std::bit_cast<float>(static_cast<uint32_t>(nearest[most - 1] >> 32));
        }
        double sum = 0, weights = 0;
        for (size_t i = 0; i < held; ++i) {
            const size_t seed = ~static_cast<uint32_t>(nearest[i]);
            sum += static_cast<double>(cosines[seed]) * scores[seed];
            weights += cosines[seed];
        }
        return weights > 0 ? sum / weights : own;
    }

    const PackedView& vectors_;
    const Reranking& how_;
    const size_t k_;
    double weights_ = 0;  // of the first hits
    SeedColumns& seeds_ = columns_of_thread;
    std::vector<Match> matches_;
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
