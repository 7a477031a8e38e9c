// Rows are ordered so that similar ones are close to each other, and 32 at a time are compared with the same proposals:
// a proposed row is read once, and each of its terms meets all 32 at once (block_kernels.hpp). First the cells around
// the block and the rows that share rare terms with it are proposed; then, round by round, the neighbors of neighbors.
// Scores are rough until the end, where the best of each row are scored exactly.
#include "graph/approximate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler.hpp"
#include "graph/cells.hpp"
#include "graph/equal_rows.hpp"
#include "graph/quantized_rows.hpp"
#include "graph/ranked_rows.hpp"

namespace sthash {

namespace {

struct Posting {
    float weight;
    int32_t row;
};

// The rows of each rare term.
struct RarePostings {
    size_t first = 0;  // rare terms are those from here on
    std::vector<int64_t> starts;
    std::vector<Posting> postings;
};

struct Scratch {
    QueryBlock block;
    std::vector<float> votes;  // by row; zero between blocks
    std::vector<float> term_weights;
    std::vector<float> cell_votes;
    std::vector<int32_t> touched, terms, proposed;
    std::vector<Candidate> ranked, hops;
    std::vector<float> query;
    std::vector<Candidate> exact;
};

// Adds to the votes of a row, and notes it at its first.
inline void vote(std::vector<float>& votes, std::vector<int32_t>& touched, int32_t row, float weight) {
    if (votes[row] == 0.0f) touched.push_back(row);
    votes[row] += weight;
}

// Takes the votes of the rows that were touched, and leaves the `most` best of them in `ranked`.
void take_best(std::vector<float>& votes, std::vector<int32_t>& touched, size_t most, std::vector<Candidate>& ranked) {
    ranked.clear();
    for (const int32_t row : touched) {
        if (votes[row] != 0.0f) ranked.push_back({votes[row], row});
        votes[row] = 0.0f;
    }
    touched.clear();
    if (ranked.size() <= most) return;
    std::nth_element(ranked.begin(), ranked.begin() + most, ranked.end(),
                     [](const Candidate& a, const Candidate& b) { return better(a, b); });
    ranked.resize(most);
}

class ApproximateNeighbors {
 public:
    // Searches among the rows chosen[0], chosen[1], … only.
    ApproximateNeighbors(const CsrView& given, const std::vector<int32_t>& chosen, size_t n_columns,
                         const ApproximateOptions& options, int threads, StopFlag& stop)
        : given_(given),
          chosen_(chosen),
          n_(chosen.size()),
          options_(options),
          threads_(std::max(threads, 1)),
          stop_(stop),
          // Rough scores err a little, so some more neighbors than wanted are kept until the end.
          kept_(std::min(n_ - 1, options.k + std::max<size_t>(7, options.k / 4))),
          scratch_(threads_) {
        std::vector<int32_t> identity(n_);
        std::iota(identity.begin(), identity.end(), 0);
        const auto side = static_cast<size_t>(options.cells * std::sqrt(static_cast<double>(n_)));
        const size_t n_cells = std::clamp<size_t>(side, 1, n_);
        const CellOptions how{n_cells, options.choices, std::max<size_t>(4 * n_ / n_cells, 64), options.seed};
        if (given.dense) {
            const size_t width = static_cast<size_t>(given.indptr[1] - given.indptr[0]);
            cells_ = make_cells(quantized_rows(given.values, width, chosen, threads_), how, threads_, stop);
            std::vector<int32_t> ordered(n_);
            std::transform(cells_.order.begin(), cells_.order.end(), ordered.begin(),
                           [&](int32_t row) { return chosen[row]; });
            rows_ = quantized_rows(given.values, width, ordered, threads_);
        } else {
            ranked_.emplace_back(given, n_columns, chosen);
            cells_ = make_cells(quantized_rows(ranked_[0], identity), how, threads_, stop);
            rows_ = quantized_rows(ranked_[0], cells_.order);
            collect_rare();
        }
        n_blocks_ = (n_ + block_size - 1) / block_size;
        near_.assign(n_ * kept_, {0, -1});
    }

    NeighborLists search() {
        for_blocks([&](size_t first, size_t count, Scratch& own) {
            propose_cells(first, count, own);
            propose_rare(first, count, own);
        });
        for (size_t round = 0; round < options_.rounds && !stop_; ++round) {
            find_reverse();
            for_blocks([&](size_t first, size_t count, Scratch& own) { propose_paths(first, count, own); });
        }
        return exact_lists();
    }

 private:
    static constexpr size_t reverse_kept = 10;

    struct Near {
        int16_t score;
        int32_t row;
    };

    // Lets propose(first, count, own) fill own.proposed for each block, and keeps the best of the proposals, among
    // which the present neighbors must be.
    template <class Propose>
    void for_blocks(Propose&& propose) {
        std::vector<Near> next(near_.size(), {0, -1});
        parallel_for(n_blocks_, 1, threads_, stop_, [&](size_t begin, size_t end, int thread) {
            Scratch& own = scratch_[thread];
            own.votes.resize(n_, 0.0f);
            for (size_t b = begin; b < end; ++b) {
                const size_t first = b * block_size, count = std::min(block_size, n_ - first);
                own.proposed.clear();
                propose(first, count, own);
                int16_t thresholds[block_size] = {};
                for (size_t q = 0; q < count; ++q) {
                    const Near& last = near_[(first + q) * kept_ + kept_ - 1];
                    if (last.row >= 0) thresholds[q] = static_cast<int16_t>(last.score - 1);
                }
                own.block.load(rows_, first, count);
                own.block.search(rows_, true, own.proposed, kept_, thresholds);
                for (size_t q = 0; q < count; ++q) {
                    size_t place = (first + q) * kept_;
                    for (const uint64_t key : own.block.best(q, kept_))
                        next[place++] = {QueryBlock::score_of(key), QueryBlock::row_of(key)};
                }
            }
        });
        near_.swap(next);
    }

    // The cells that most rows of the block are close to, best first.
    void propose_cells(size_t first, size_t count, Scratch& own) {
        const size_t choices = cells_.choices;
        own.cell_votes.resize(cells_.n(), 0.0f);
        for (size_t place = first; place < first + count; ++place) {
            vote(own.cell_votes, own.touched, cells_.cell[place], static_cast<float>(2 * choices));
            for (size_t c = 0; c < choices; ++c) {
                const int32_t cell = cells_.nearest[place * choices + c];
                if (cell >= 0) vote(own.cell_votes, own.touched, cell, static_cast<float>(choices - c));
            }
        }
        take_best(own.cell_votes, own.touched, cells_.n(), own.ranked);
        std::sort(own.ranked.begin(), own.ranked.end(),
                  [](const Candidate& a, const Candidate& b) { return better(a, b); });
        for (const Candidate& cell : own.ranked) {
            if (own.proposed.size() >= options_.cell_proposals) break;
            for (int32_t row = cells_.starts[cell.row]; row < cells_.starts[cell.row + 1]; ++row)
                own.proposed.push_back(row);
        }
    }

    // The rows that share the heaviest rare terms with the block.
    void propose_rare(size_t first, size_t count, Scratch& own) {
        if (rare_.starts.empty()) return;
        own.term_weights.resize(rows_.n_columns, 0.0f);
        own.terms.clear();
        for (size_t place = first; place < first + count; ++place)
            for (int64_t at = rows_.indptr[place]; at < rows_.indptr[place + 1]; ++at)
                if (static_cast<size_t>(rows_.columns[at]) >= rare_.first)
                    vote(own.term_weights, own.terms, rows_.columns[at],
                         std::abs(static_cast<float>(rows_.weights[at])));
        // Rows of the cells are there already.
        for (const int32_t row : own.proposed) own.votes[row] = 1.0f;
        for (const int32_t term : own.terms) {
            const float weight = std::exchange(own.term_weights[term], 0.0f);
            const size_t t = static_cast<size_t>(term) - rare_.first;
            for (int64_t at = rare_.starts[t]; at < rare_.starts[t + 1]; ++at)
                vote(own.votes, own.touched, rare_.postings[at].row, weight * rare_.postings[at].weight);
        }
        for (const int32_t row : own.proposed) own.votes[row] = 0.0f;
        take_best(own.votes, own.touched, options_.rare_proposals, own.ranked);
        for (const Candidate& found : own.ranked) own.proposed.push_back(found.row);
    }

    // Neighbors of the block, and their neighbors, both ways along the edges.
    void propose_paths(size_t first, size_t count, Scratch& own) {
        for (size_t place = first; place < first + count; ++place) step_from(static_cast<int32_t>(place), 1.0f, own);
        take_best(own.votes, own.touched, n_, own.hops);
        for (const Candidate& hop : own.hops) own.votes[hop.row] = hop.score;
        for (const Candidate& hop : own.hops) own.touched.push_back(hop.row);
        for (size_t h = 0; h < own.hops.size(); ++h) {
            if (h + 4 < own.hops.size()) {
                const size_t coming = static_cast<size_t>(own.hops[h + 4].row);
                STHASH_PREFETCH(near_.data() + coming * kept_);
                STHASH_PREFETCH(near_.data() + coming * kept_ + 8);
                STHASH_PREFETCH(near_.data() + coming * kept_ + 16);
                STHASH_PREFETCH(reverse_.data() + coming * reverse_kept);
            }
            step_from(own.hops[h].row, own.hops[h].score, own);
        }
        // Present neighbors must stay among the proposals.
        for (size_t place = first; place < first + count; ++place)
            for (size_t at = place * kept_; at < (place + 1) * kept_ && near_[at].row >= 0; ++at)
                vote(own.votes, own.touched, near_[at].row, 1e9f);
        take_best(own.votes, own.touched, std::max(options_.path_proposals, count * kept_), own.ranked);
        for (const Candidate& found : own.ranked) own.proposed.push_back(found.row);
    }

    void step_from(int32_t from, float weight, Scratch& own) {
        constexpr float unit = 1.0f / 16384;
        const Near* const near = near_.data() + static_cast<size_t>(from) * kept_;
        for (size_t at = 0; at < options_.k && at < kept_ && near[at].row >= 0; ++at)
            vote(own.votes, own.touched, near[at].row, weight * unit * static_cast<float>(near[at].score));
        const Near* const reverse = reverse_.data() + static_cast<size_t>(from) * reverse_kept;
        for (size_t at = 0; at < reverse_kept && reverse[at].row >= 0; ++at)
            vote(own.votes, own.touched, reverse[at].row, weight * unit * static_cast<float>(reverse[at].score));
    }

    // For each row, the rows that have it as a neighbor: the nearest of them.
    void find_reverse() {
        reverse_.assign(n_ * reverse_kept, {0, -1});
        std::vector<int64_t> starts(n_ + 1, 0);
        const auto each_edge = [&](auto&& take) {
            for (size_t i = 0; i < n_; ++i)
                for (size_t at = i * kept_; at < i * kept_ + std::min(options_.k, kept_) && near_[at].row >= 0; ++at)
                    take(static_cast<int32_t>(i), near_[at]);
        };
        each_edge([&](int32_t, const Near& near) { ++starts[near.row + 1]; });
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        std::vector<Near> edges(starts.back());
        std::vector<int64_t> next(starts.begin(), starts.end() - 1);
        each_edge([&](int32_t from, const Near& near) { edges[next[near.row]++] = {near.score, from}; });
        parallel_for(n_, 1024, threads_, stop_, [&](size_t begin, size_t end, int) {
            for (size_t i = begin; i < end; ++i) {
                const auto from = edges.begin() + starts[i], to = edges.begin() + starts[i + 1];
                const auto kept = from + std::min<int64_t>(reverse_kept, to - from);
                std::partial_sort(from, kept, to, [](const Near& a, const Near& b) {
                    return a.score != b.score ? a.score > b.score : a.row < b.row;
                });
                std::copy(from, kept, reverse_.begin() + i * reverse_kept);
            }
        });
    }

    void collect_rare() {
        const std::vector<int64_t>& frequency = ranked_[0].frequency;
        const auto most = static_cast<int64_t>(options_.rare_frequency);
        rare_.first = static_cast<size_t>(
            std::partition_point(frequency.begin(), frequency.end(), [&](int64_t f) { return f > most; }) -
            frequency.begin());
        if (rare_.first >= rows_.n_columns) return;
        rare_.starts.assign(rows_.n_columns - rare_.first + 1, 0);
        for (size_t term = rare_.first; term < rows_.n_columns; ++term)
            rare_.starts[term - rare_.first + 1] = rare_.starts[term - rare_.first] + frequency[term];
        rare_.postings.resize(rare_.starts.back());
        std::vector<int64_t> next(rare_.starts.begin(), rare_.starts.end() - 1);
        for (size_t i = 0; i < n_; ++i)
            for (int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at)
                if (static_cast<size_t>(rows_.columns[at]) >= rare_.first)
                    rare_.postings[next[rows_.columns[at] - rare_.first]++] = {
                        std::abs(static_cast<float>(rows_.weights[at])), static_cast<int32_t>(i)};
    }

    // The k best of the neighbors that were kept, by exact score, in the order of the chosen rows.
    NeighborLists exact_lists() {
        NeighborLists lists(n_, options_.k);
        parallel_for(n_, 64, threads_, stop_, [&](size_t begin, size_t end, int thread) {
            Scratch& own = scratch_[thread];
            for (size_t i = begin; i < end; ++i) {
                const int32_t self = cells_.order[i];
                own.exact.clear();
                spread(self, own.query);
                for (size_t at = i * kept_; at < (i + 1) * kept_ && near_[at].row >= 0; ++at) {
                    const int32_t row = cells_.order[near_[at].row];
                    const float score = exact_score(self, row, own.query);
                    if (score > 0) own.exact.push_back({score, row});
                }
                clear(self, own.query);
                lists.write(self, own.exact);
            }
        });
        return lists;
    }

    void spread(int32_t row, std::vector<float>& query) const {
        if (given_.dense) return;
        const RankedRows& rows = ranked_[0];
        query.resize(rows.n_terms(), 0.0f);
        for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) query[rows.terms[at]] = rows.weights[at];
    }

    void clear(int32_t row, std::vector<float>& query) const {
        if (given_.dense) return;
        const RankedRows& rows = ranked_[0];
        for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) query[rows.terms[at]] = 0.0f;
    }

    float exact_score(int32_t self, int32_t row, const std::vector<float>& query) const {
        if (!given_.dense) return static_cast<float>(exact_product(ranked_[0], row, query.data()));
        const SparseRow a = given_.row(chosen_[self]), b = given_.row(chosen_[row]);
        double sum = 0;
        for (long at = 0; at < a.size; ++at) sum += static_cast<double>(a.values[at]) * b.values[at];
        return static_cast<float>(sum);
    }

    CsrView given_;
    const std::vector<int32_t>& chosen_;
    size_t n_;
    ApproximateOptions options_;
    int threads_;
    StopFlag& stop_;
    size_t kept_;  // neighbors per row until the end
    size_t n_blocks_ = 0;
    std::vector<RankedRows> ranked_;  // one if sparse
    Cells cells_;
    QuantizedRows rows_;  // in the order of the cells, as are all rows below
    RarePostings rare_;
    std::vector<Near> near_, reverse_;
    std::vector<Scratch> scratch_;
};

}  // namespace

NeighborLists approximate_neighbors(const CsrView& rows, size_t n_columns, const ApproximateOptions& options,
                                    int threads, StopFlag& stop) {
    const EqualRows equal = find_equal_rows(rows, threads, stop);
    NeighborLists among_distinct(equal.n(), options.k);
    if (equal.n() > 1)
        among_distinct = ApproximateNeighbors(rows, equal.first, n_columns, options, threads, stop).search();
    return with_copies(rows, equal, among_distinct, threads, stop);
}

}  // namespace sthash
