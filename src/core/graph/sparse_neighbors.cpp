// Plain search adds up, for each query, the postings of all its terms. Most of that work goes into the few terms that
// many documents have and that weigh least. Here those common terms are left out at first: the postings of the rare
// terms give every row a partial score, and |x_common| |y_common| bounds what is missing (Cauchy-Schwarz). Only rows
// whose bound reaches the k-th best partial score are looked at again.
#include "graph/sparse_neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace sthash {

namespace {

class SparseNeighbors {
 public:
    explicit SparseNeighbors(const SparseGraphProblem& problem) : n_(problem.rows.n_rows), penalty_(problem.penalty) {
        const CsrView& matrix = problem.rows;
        nonnegative_ = std::all_of(matrix.values, matrix.values + matrix.indptr[n_], [](float w) { return w >= 0; });
        rank_terms(matrix, problem.n_columns);
        while (n_common_ < frequency_.size() &&
               static_cast<double>(frequency_[n_common_]) > problem.common_share * static_cast<double>(n_))
            ++n_common_;
        build_rows(matrix);
        build_postings();
    }

    NeighborLists search(size_t k, int threads, StopFlag& stop) const {
        NeighborLists lists(n_, k);
        std::vector<Scratch> scratch(std::max(threads, 1));
        parallel_for(n_, 32, threads, stop, [&](size_t begin, size_t end, int thread) {
            Scratch& own = scratch[thread];
            own.partial.resize(n_, 0.0f);
            own.query.resize(frequency_.size(), 0.0f);
            for (size_t i = begin; i < end; ++i) search_one(i, k, own, lists);
        });
        return lists;
    }

 private:
    static constexpr float rounding = 1e-5f;

    struct Scratch {
        std::vector<float> partial;  // by row; zero between queries
        std::vector<float> query;    // by ranked term; zero between queries
        CandidateScratch gathering;
    };

    // Ranks go by document frequency, the most common term first; ties by column, so that they are
    // reproducible.
    void rank_terms(const CsrView& matrix, size_t n_columns) {
        std::vector<int64_t> frequency(n_columns, 0);
        for (int64_t at = 0; at < matrix.indptr[n_]; ++at) ++frequency[matrix.indices[at]];
        std::vector<int32_t> order(n_columns);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return frequency[a] > frequency[b]; });
        rank_.resize(n_columns);
        frequency_.resize(n_columns);
        for (size_t rank = 0; rank < order.size(); ++rank) {
            rank_[order[rank]] = static_cast<int32_t>(rank);
            frequency_[rank] = frequency[order[rank]];
        }
    }

    // The rows again, terms by rank, so that the common terms of a row come first.
    void build_rows(const CsrView& matrix) {
        const int64_t size = matrix.indptr[n_];
        indptr_.assign(matrix.indptr, matrix.indptr + n_ + 1);
        terms_.resize(size);
        weights_.resize(size);
        common_end_.resize(n_);
        common_norm_.resize(n_);
        norm_.resize(n_);
        std::vector<std::pair<int32_t, float>> row;
        for (size_t i = 0; i < n_; ++i) {
            row.clear();
            for (int64_t at = indptr_[i]; at < indptr_[i + 1]; ++at)
                row.emplace_back(rank_[matrix.indices[at]], matrix.values[at]);
            std::sort(row.begin(), row.end());
            double common_square = 0, square = 0;
            int64_t at = indptr_[i];
            common_end_[i] = at;
            for (const auto& [term, weight] : row) {
                terms_[at] = term;
                weights_[at++] = weight;
                square += static_cast<double>(weight) * weight;
                if (static_cast<size_t>(term) >= n_common_) continue;
                common_square = square;
                common_end_[i] = at;
            }
            common_norm_[i] = static_cast<float>(std::sqrt(common_square));
            norm_[i] = static_cast<float>(std::sqrt(square));
            largest_norm_ = std::max(largest_norm_, norm_[i]);
        }
    }

    void build_postings() {
        posting_start_.assign(frequency_.size() + 1, 0);
        for (size_t term = 0; term < frequency_.size(); ++term)
            posting_start_[term + 1] = posting_start_[term] + (term < n_common_ ? 0 : frequency_[term]);
        postings_.resize(posting_start_.back());
        std::vector<int64_t> next(posting_start_.begin(), posting_start_.end() - 1);
        for (size_t i = 0; i < n_; ++i)
            for (int64_t at = common_end_[i]; at < indptr_[i + 1]; ++at)
                postings_[next[terms_[at]]++] = {weights_[at], static_cast<int32_t>(i)};
    }

    void search_one(size_t i, size_t k, Scratch& own, NeighborLists& lists) const {
        for (int64_t at = indptr_[i]; at < indptr_[i + 1]; ++at) own.query[terms_[at]] = weights_[at];
        float* partial = own.partial.data();
        for (int64_t at = common_end_[i]; at < indptr_[i + 1]; ++at) {
            const float weight = weights_[at];
            const Candidate* const end = postings_.data() + posting_start_[terms_[at] + 1];
            for (const Candidate* post = postings_.data() + posting_start_[terms_[at]]; post < end; ++post)
                partial[post->row] += weight * post->score;
        }
        const float slack = rounding * (norm_[i] * largest_norm_);
        partial[i] = -std::numeric_limits<float>::infinity();
        gather_candidates({partial, penalty_, common_norm_.data(), common_norm_[i], nonnegative_, slack, n_}, i, k,
                          own.gathering);
        std::vector<Candidate>& candidates = own.gathering.candidates;
        add_common_terms(k, slack, own);
        for (Candidate& candidate : candidates) candidate.score = exact_score(candidate.row, own);
        lists.write(i, candidates);
        std::fill_n(partial, n_, 0.0f);
        for (int64_t at = indptr_[i]; at < indptr_[i + 1]; ++at) own.query[terms_[at]] = 0.0f;
    }

    // Completes the candidates' scores, and keeps those that may still be among the k best.
    void add_common_terms(size_t k, float slack, Scratch& own) const {
        std::vector<Candidate>& candidates = own.gathering.candidates;
        own.gathering.certain.clear();
        for (Candidate& candidate : candidates) {
            float score = candidate.score;
            for (int64_t at = indptr_[candidate.row]; at < common_end_[candidate.row]; ++at)
                score += own.query[terms_[at]] * weights_[at];
            candidate.score = score;
            own.gathering.certain.push_back(score);
        }
        const float enough = kth_largest(own.gathering.certain, k) - slack;
        std::erase_if(candidates, [&](const Candidate& candidate) { return candidate.score < enough; });
    }

    // In double precision and in the order of the terms, so that no order of work can change a score or a
    // tie.
    float exact_score(int32_t row, const Scratch& own) const {
        double sum = 0;
        for (int64_t at = indptr_[row]; at < indptr_[row + 1]; ++at)
            sum += static_cast<double>(own.query[terms_[at]]) * weights_[at];
        return static_cast<float>(sum - penalty_[row]);
    }

    size_t n_;
    const float* penalty_;
    bool nonnegative_;
    size_t n_common_ = 0;
    std::vector<int32_t> rank_;
    std::vector<int64_t> frequency_;  // by rank
    std::vector<int64_t> indptr_, common_end_, posting_start_;
    std::vector<int32_t> terms_;
    std::vector<float> weights_, common_norm_, norm_;
    float largest_norm_ = 0;
    std::vector<Candidate> postings_;  // score: the weight of the term in that row
};

}  // namespace

NeighborLists sparse_neighbors(const SparseGraphProblem& problem, size_t k, int threads, StopFlag& stop) {
    return SparseNeighbors(problem).search(k, threads, stop);
}

}  // namespace sthash
