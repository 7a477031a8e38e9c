// Plain search adds up, for each query, the postings of all its terms. Most of that work goes into the few terms that
// many documents have and that weigh least. Here those common terms are left out at first: the postings of the rare
// terms give every row a partial score, and |x_common| |y_common| bounds what is missing (Cauchy-Schwarz). Only rows
// whose bound reaches the k-th best partial score are looked at again.
#include "graph/sparse_neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "dot.hpp"
#include "graph/ranked_rows.hpp"

namespace sthash::graph {

namespace {

class SparseNeighbors {
 public:
    explicit SparseNeighbors(const SparseGraphProblem& problem)
        : n_(problem.rows.n_rows), penalty_(problem.penalty), rows_(problem.rows, problem.n_columns, all_rows(n_)) {
        nonnegative_ = std::all_of(rows_.weights.begin(), rows_.weights.end(), [](float w) { return w >= 0; });
        while (n_common_ < rows_.n_terms() &&
               static_cast<double>(rows_.frequency[n_common_]) > problem.common_share * static_cast<double>(n_))
            ++n_common_;
        measure_rows();
        build_postings();
    }

    NeighborLists search(size_t k, int threads, StopFlag& stop) const {
        NeighborLists lists(n_, k);
        std::vector<Scratch> scratch(std::max(threads, 1));
        parallel_for(n_, 32, threads, stop, [&](size_t begin, size_t end, int thread) {
            Scratch& own = scratch[thread];
            own.partial.resize(n_, 0.0f);
            own.query.resize(rows_.n_terms());
            for (size_t i = begin; i < end; ++i) search_one(i, k, own, lists);
        });
        return lists;
    }

 private:
    static constexpr float kRounding = 1e-5f;

    struct Scratch {
        std::vector<float> partial;  // by row; zero between queries
        Spread query;                // by ranked term; zero between queries
        CandidateScratch gathering;
    };

    static std::vector<int32_t> all_rows(size_t n) {
        std::vector<int32_t> rows(n);
        std::iota(rows.begin(), rows.end(), 0);
        return rows;
    }

    // The common terms of a row come first.
    void measure_rows() {
        common_end_.resize(n_);
        common_norm_.resize(n_);
        norm_.resize(n_);
        for (size_t i = 0; i < n_; ++i) {
            double common_square = 0, square = 0;
            common_end_[i] = rows_.indptr[i];
            for (int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at) {
                square += static_cast<double>(rows_.weights[at]) * rows_.weights[at];
                if (static_cast<size_t>(rows_.terms[at]) >= n_common_) continue;
                common_square = square;
                common_end_[i] = at + 1;
            }
            common_norm_[i] = static_cast<float>(std::sqrt(common_square));
            norm_[i] = static_cast<float>(std::sqrt(square));
            largest_norm_ = std::max(largest_norm_, norm_[i]);
        }
    }

    void build_postings() {
        posting_start_.assign(rows_.frequency.size() + 1, 0);
        for (size_t term = 0; term < rows_.frequency.size(); ++term)
            posting_start_[term + 1] = posting_start_[term] + (term < n_common_ ? 0 : rows_.frequency[term]);
        postings_.resize(posting_start_.back());
        std::vector<int64_t> next(posting_start_.begin(), posting_start_.end() - 1);
        for (size_t i = 0; i < n_; ++i)
            for (int64_t at = common_end_[i]; at < rows_.indptr[i + 1]; ++at)
                postings_[next[rows_.terms[at]]++] = {rows_.weights[at], static_cast<int32_t>(i)};
    }

    void search_one(size_t i, size_t k, Scratch& own, NeighborLists& lists) const {
        own.query.set(rows_.row(i));
        float* partial = own.partial.data();
        for (int64_t at = common_end_[i]; at < rows_.indptr[i + 1]; ++at) {
            const float weight = rows_.weights[at];
            const Candidate* const end = postings_.data() + posting_start_[rows_.terms[at] + 1];
            for (const Candidate* post = postings_.data() + posting_start_[rows_.terms[at]]; post < end; ++post)
                partial[post->row] += weight * post->score;
        }
        const float slack = kRounding * (norm_[i] * largest_norm_);
        partial[i] = -std::numeric_limits<float>::infinity();
        gather_candidates({partial, penalty_, common_norm_.data(), common_norm_[i], nonnegative_, slack, n_}, i, k,
                          own.gathering);
        std::vector<Candidate>& candidates = own.gathering.candidates;
        add_common_terms(k, slack, own);
        for (Candidate& candidate : candidates) {
            const double product = exact_dot(rows_.row(candidate.row), own.query.data());
            candidate.score = static_cast<float>(product - penalty_[candidate.row]);
        }
        lists.write(i, candidates);
        std::fill_n(partial, n_, 0.0f);
        own.query.clear(rows_.row(i));
    }

    // Completes the candidates' scores, and keeps those that may still be among the k best.
    void add_common_terms(size_t k, float slack, Scratch& own) const {
        std::vector<Candidate>& candidates = own.gathering.candidates;
        own.gathering.certain.clear();
        for (Candidate& candidate : candidates) {
            float score = candidate.score;
            for (int64_t at = rows_.indptr[candidate.row]; at < common_end_[candidate.row]; ++at)
                score += own.query.data()[rows_.terms[at]] * rows_.weights[at];
            candidate.score = score;
            own.gathering.certain.push_back(score);
        }
        const float enough = kth_largest(own.gathering.certain, k) - slack;
        std::erase_if(candidates, [&](const Candidate& candidate) { return candidate.score < enough; });
    }

    size_t n_;
    const float* penalty_;
    RankedRows rows_;
    bool nonnegative_;
    size_t n_common_ = 0;
    std::vector<int64_t> common_end_, posting_start_;
    std::vector<float> common_norm_, norm_;
    float largest_norm_ = 0;
    std::vector<Candidate> postings_;  // score: the weight of the term in that row
};

}  // namespace

NeighborLists sparse_neighbors(const SparseGraphProblem& problem, size_t k, int threads, StopFlag& stop) {
    return SparseNeighbors(problem).search(k, threads, stop);
}

}  // namespace sthash::graph
