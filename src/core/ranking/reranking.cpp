#include "ranking/reranking.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "ranking/seed_columns.hpp"

namespace sthash::ranking {

namespace {

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
    Reranker(const RowsView& vectors, const Reranking& how, size_t k) : vectors_(vectors), how_(how), k_(k) {}
    Reranker(const Reranker&) = delete;
    ~Reranker() { seeds_.clear(); }

    // The first `count` places and scores are the hits; the k best are written to `to_places` and `to_scores`. The
    // vectors of the first hits of the next query are asked for by the way.
    void rank(const int64_t* places, const float* scores, size_t count, std::span<const int64_t> next,
              int64_t* to_places, float* to_scores) {
        const size_t n_seeds = std::min(how_.seeds, count), n_first = std::min(how_.feedback_documents, n_seeds);
        next = next.first(std::min(how_.seeds, next.size()));
        for (int64_t place : next) prefetch_bounds(vectors_, place);
        seeds_.set(vectors_, places, n_seeds, scores, n_first, count == n_seeds);
        for (int64_t place : next) prefetch(vectors_, place);
        for (size_t hit = n_seeds; hit < std::min(count, n_seeds + kAhead); ++hit) prefetch(vectors_, places[hit]);
        weights_ = 0;
        for (size_t first = 0; first < n_first; ++first) weights_ += scores[first];
        similarity_.resize(n_seeds);
        first_cosines_.resize(n_first * seeds_.stride());
        cosines_.resize(seeds_.stride());
        for (size_t seed = 0; seed < n_seeds; ++seed)
            similarity_[seed] = seed < n_first ? likeness(scores, seed, n_first)
                                : weights_ > 0 ? seeds_.centroid_product(seed) / weights_
                                               : 0;
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
            double own_similarity = 0;
            const float* cosines = cosines_.data();
            if (hit < n_seeds) {
                own_similarity = similarity_[hit];
                if (full && score(own, around, own_similarity) < least) continue;
                if (hit < n_first)
                    cosines = first_cosines_.data() + hit * seeds_.stride();
                else
                    seeds_.set_products(hit, cosines_.data());
            } else {
                if (full && score(own, around, nearest) < least) break;
                if (hit + 2 * kAhead < count) prefetch_bounds(vectors_, places[hit + 2 * kAhead]);
                if (hit + kAhead < count) prefetch(vectors_, places[hit + kAhead]);
                const SparseRow row = vectors_.row(static_cast<size_t>(places[hit]));
                if (full && score(own, around, weights_ > 0 ? seeds_.most_product(row) / weights_ : 0) < least)
                    continue;
                seeds_.match(row, matches_);
                own_similarity = weights_ > 0 ? seeds_.centroid_product(matches_) / weights_ : 0;
                if (full && score(own, around, own_similarity) < least) continue;
                cosines_.assign(seeds_.stride(), 0);
                seeds_.add_products(matches_, cosines_.data());
            }
            const Ranked found{score(own, mean_of_neighbors(cosines, scores, n_seeds, own), own_similarity),
                               places[hit]};
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

    // The mean cosine of one of the first hits with the others, weighted by their scores. The cosines are kept.
    double likeness(const float* scores, size_t hit, size_t n_first) {
        float* const cosines = first_cosines_.data() + hit * seeds_.stride();
        seeds_.set_products(hit, cosines);
        double sum = 0, others = 0;
        for (size_t first = 0; first < n_first; ++first) {
            if (first == hit) continue;
            sum += static_cast<double>(scores[first]) * cosines[first];
            others += scores[first];
        }
        return others > 0 ? sum / others : 0;
    }

    // The mean score of the nearest seeds, weighted by their cosines; of equal cosines the earlier seed is nearer.
    double mean_of_neighbors(const float* cosines, const float* scores, size_t n_seeds, double own) {
        const size_t most = std::min(how_.neighbors, n_seeds);
        if (most == 0) return own;
        nearest_.resize(most);
        Neighbor* const nearest = nearest_.data();
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

    const RowsView& vectors_;
    const Reranking& how_;
    const size_t k_;
    double weights_ = 0;  // of the first hits
    SeedColumns& seeds_ = columns_of_thread;
    std::vector<Match> matches_;
    std::vector<float> cosines_;        // of a hit with the seeds
    std::vector<float> first_cosines_;  // of the first hits with the seeds
    std::vector<Neighbor> nearest_;
    std::vector<Ranked> ranked_;
    std::vector<double> similarity_;
};

}  // namespace

RerankedHits rerank(const RowsView& vectors, const HitsView& hits, const Reranking& how, size_t k, int threads,
                    StopFlag& stop) {
    RerankedHits answer{std::vector<int64_t>(hits.count * k, -1), std::vector<float>(hits.count * k)};
    if (k == 0) return answer;
    parallel_for(hits.count, 8, threads, stop, [&](size_t begin, size_t end, int) {
        Reranker reranker(vectors, how, k);
        const auto places_of = [&](size_t query) {
            if (query == end) return std::span<const int64_t>();
            const int64_t* places = hits.places + query * hits.width;
            return std::span(places, std::find(places, places + hits.width, -1));
        };
        std::span<const int64_t> own = places_of(begin);
        for (size_t query = begin; query < end && !stop.load(std::memory_order_relaxed); ++query) {
            const std::span<const int64_t> next = places_of(query + 1);
            reranker.rank(own.data(), hits.scores + query * hits.width, own.size(), next,
                          answer.places.data() + query * k, answer.scores.data() + query * k);
            own = next;
        }
    });
    return answer;
}

}  // namespace sthash::ranking
