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
#include "dot.hpp"
#include "graph/cells.hpp"
#include "graph/copies.hpp"
#include "graph/quantized_rows.hpp"
#include "graph/ranked_rows.hpp"
#include "graph/rare_postings.hpp"

namespace sthash::graph {

namespace {

struct Scratch {
    QueryBlock block;
    std::vector<float> votes;  // by row; zero between blocks
    std::vector<float> term_weights;
    std::vector<float> cell_votes;
    std::vector<uint8_t> fresh;  // by row; zero between blocks
    std::vector<int32_t> touched, terms, proposed, seen;
    std::vector<Candidate> ranked, hops;
    Spread query;
    std::vector<const float*> near_rows;
    std::vector<double> products;
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
    ApproximateNeighbors(const RowsView& given, const std::vector<int32_t>& chosen, size_t n_columns,
                         const ApproximateOptions& options, int threads, StopFlag& stop, Progress& progress)
        : given_(given),
          chosen_(chosen),
          n_(chosen.size()),
          options_(options),
          threads_(std::max(threads, 1)),
          stop_(stop),
          progress_(progress),
          // Rough scores err a little, so some more neighbors than wanted are kept until the end.
          kept_(std::min(n_ - 1, options.k + std::max<size_t>(7, options.k / 4))),
          scratch_(threads_) {
        std::vector<int32_t> identity(n_);
        std::iota(identity.begin(), identity.end(), 0);
        const auto side = static_cast<size_t>(options.cells * std::sqrt(static_cast<double>(n_)));
        const size_t n_cells = std::clamp<size_t>(side, 1, n_);
        const CellOptions how{n_cells, options.choices, std::max<size_t>(4 * n_ / n_cells, 64), options.seed};
        if (given.dense) {
            const QuantizedRows quantized = quantized_rows(given, chosen, threads_);
            cells_ = make_cells(quantized, how, threads_, stop);
            rows_ = some_rows(quantized, cells_.order);
        } else {
            const RankedRows ranked(given, n_columns, chosen);
            cells_ = make_cells(quantized_rows(ranked, identity), how, threads_, stop);
            rows_ = quantized_rows(ranked, cells_.order);
            rare_ = rare_postings(rows_, ranked.frequency, options.rare_frequency);
        }
        n_blocks_ = (n_ + kBlockSize - 1) / kBlockSize;
        // The cells and the exact scores take about as long as a round each.
        progress_.total = n_blocks_ * (3 + options.rounds);
        progress_.done = n_blocks_;
        near_.assign(n_ * kept_, {0, false, -1});
    }

    NeighborLists search() {
        for_blocks([&](size_t first, size_t count, Scratch& own) {
            propose_cells(first, count, own);
            propose_rare(first, count, own);
        });
        for (size_t round = 0; round < options_.rounds && !stop_ && fresh_share() > options_.least_fresh; ++round) {
            find_reverse();
            for_blocks([&](size_t first, size_t count, Scratch& own) { propose_paths(first, count, round == 0, own); });
        }
        progress_.done = progress_.total - n_blocks_;  // there may have been fewer rounds
        return exact_lists();
    }

 private:
    static constexpr size_t kReverseKept = 10;

    struct Near {
        int16_t score;
        bool fresh;  // found in the last round
        int32_t row;
    };

    // Lets propose(first, count, own) fill own.proposed for each block, and keeps the best of the proposals, among
    // which the present neighbors must be.
    template <class Propose>
    void for_blocks(Propose&& propose) {
        std::vector<Near> next(near_.size(), {0, false, -1});
        parallel_for(n_blocks_, 1, threads_, stop_, [&](size_t begin, size_t end, int thread) {
            Scratch& own = scratch_[thread];
            own.votes.resize(n_, 0.0f);
            for (size_t b = begin; b < end; ++b) {
                const size_t first = b * kBlockSize, count = std::min(kBlockSize, n_ - first);
                own.proposed.clear();
                propose(first, count, own);
                int16_t thresholds[kBlockSize] = {};
                for (size_t q = 0; q < count; ++q) {
                    const Near& last = near_[(first + q) * kept_ + kept_ - 1];
                    if (last.row >= 0) thresholds[q] = static_cast<int16_t>(last.score - 1);
                }
                own.block.load(rows_, first, count);
                own.block.search(rows_, true, own.proposed, kept_, thresholds);
                for (size_t q = 0; q < count; ++q) merge((first + q) * kept_, own.block.best(q, kept_), next);
                progress_.done.fetch_add(1, std::memory_order_relaxed);
            }
        });
        near_.swap(next);
    }

    // Merges the present list, which starts at `at`, with what was found now, best first. Equal keys are the same row.
    void merge(size_t at, const std::vector<uint64_t>& found, std::vector<Near>& next) const {
        const size_t end = at + kept_;
        size_t old = at;
        auto now = found.begin();
        for (size_t to = at; to < end; ++to) {
            const bool has_old = old < end && near_[old].row >= 0;
            if (!has_old && now == found.end()) break;
            const uint64_t key = has_old ? QueryBlock::key_of(near_[old].score, near_[old].row) : 0;
            const bool takes_old = has_old && (now == found.end() || key >= *now);
            if (takes_old && now != found.end() && key == *now) ++now;
            if (takes_old) {
                next[to] = {near_[old].score, false, near_[old].row};
                ++old;
            } else {
                next[to] = {QueryBlock::score_of(*now), true, QueryBlock::row_of(*now)};
                ++now;
            }
        }
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
            if (own.proposed.size() >= (given_.dense ? options_.dense_proposals : options_.cell_proposals)) break;
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

    // Neighbors of the block, and their neighbors, both ways along the edges. A path must have an edge of the last
    // round: the others were followed before. Rows that the first round compared with the block are left out of the
    // second.
    void propose_paths(size_t first, size_t count, bool second, Scratch& own) {
        own.seen.clear();
        if (second) {
            propose_cells(first, count, own);
            own.seen.swap(own.proposed);
        }
        own.fresh.resize(n_, false);
        for (size_t place = first; place < first + count; ++place)
            for_edges(place, [&](const Near& near) {
                vote(own.votes, own.touched, near.row, as_weight(near));
                if (near.fresh) own.fresh[near.row] = true;
            });
        take_best(own.votes, own.touched, n_, own.hops);
        for (size_t place = first; place < first + count; ++place)
            for_reverse(place, [&](const Near& near) {
                if (near.fresh) vote(own.votes, own.touched, near.row, as_weight(near));
            });
        for (size_t h = 0; h < own.hops.size(); ++h) {
            if (h + 4 < own.hops.size()) {
                const size_t coming = static_cast<size_t>(own.hops[h + 4].row);
                for (size_t at = 0; at < options_.k; at += 8) STHASH_PREFETCH(near_.data() + coming * kept_ + at);
                STHASH_PREFETCH(reverse_.data() + coming * kReverseKept);
            }
            const Candidate hop = own.hops[h];
            const bool fresh = std::exchange(own.fresh[hop.row], false);
            for_edges(hop.row, [&](const Near& near) {
                if (fresh || near.fresh) vote(own.votes, own.touched, near.row, hop.score * as_weight(near));
            });
        }
        for (const int32_t row : own.seen) own.votes[row] = 0.0f;
        take_best(own.votes, own.touched, options_.path_proposals, own.ranked);
        for (const Candidate& found : own.ranked) own.proposed.push_back(found.row);
    }

    // The share of the edges that the last round found.
    double fresh_share() const {
        size_t fresh = 0, edges = 0;
        for (size_t i = 0; i < n_; ++i)
            for (size_t at = i * kept_; at < i * kept_ + std::min(options_.k, kept_) && near_[at].row >= 0; ++at) {
                ++edges;
                fresh += near_[at].fresh;
            }
        return edges > 0 ? static_cast<double>(fresh) / static_cast<double>(edges) : 0;
    }

    static float as_weight(const Near& near) { return static_cast<float>(near.score) * (1.0f / 16384); }

    template <class Take>
    void for_edges(size_t place, Take&& take) const {
        const Near* const near = near_.data() + place * kept_;
        for (size_t at = 0; at < options_.k && at < kept_ && near[at].row >= 0; ++at) take(near[at]);
        for_reverse(place, take);
    }

    template <class Take>
    void for_reverse(size_t place, Take&& take) const {
        const Near* const near = reverse_.data() + place * kReverseKept;
        for (size_t at = 0; at < kReverseKept && near[at].row >= 0; ++at) take(near[at]);
    }

    // For each row, the rows that have it as a neighbor: the nearest of them.
    void find_reverse() {
        reverse_.assign(n_ * kReverseKept, {0, false, -1});
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
        each_edge([&](int32_t from, const Near& near) { edges[next[near.row]++] = {near.score, near.fresh, from}; });
        parallel_for(n_, 1024, threads_, stop_, [&](size_t begin, size_t end, int) {
            for (size_t i = begin; i < end; ++i) {
                const auto from = edges.begin() + starts[i], to = edges.begin() + starts[i + 1];
                const auto kept = from + std::min<int64_t>(kReverseKept, to - from);
                std::partial_sort(from, kept, to, [](const Near& a, const Near& b) {
                    return a.score != b.score ? a.score > b.score : a.row < b.row;
                });
                std::copy(from, kept, reverse_.begin() + i * kReverseKept);
            }
        });
    }

    // The k best of the neighbors that were kept, by exact score, in the order of the chosen rows. Products are added
    // up in double precision and in the order of the columns, as the exact search does it.
    NeighborLists exact_lists() {
        NeighborLists lists(n_, options_.k);
        parallel_for(n_, 64, threads_, stop_, [&](size_t begin, size_t end, int thread) {
            Scratch& own = scratch_[thread];
            for (size_t i = begin; i < end; ++i) {
                own.exact.clear();
                if (given_.dense)
                    score_dense(i, own);
                else
                    score_sparse(i, own);
                lists.write(cells_.order[i], own.exact);
            }
        });
        return lists;
    }

    void score_dense(size_t place, Scratch& own) const {
        const SparseRow query = row_at(place);
        const Near* const near = near_.data() + place * kept_;
        own.near_rows.clear();
        for (size_t at = 0; at < kept_ && near[at].row >= 0; ++at) own.near_rows.push_back(row_at(near[at].row).values);
        own.products.resize(own.near_rows.size());
        exact_dots(query.values, own.near_rows.data(), own.near_rows.size(), static_cast<size_t>(query.size),
                   own.products.data());
        for (size_t at = 0; at < own.products.size(); ++at) add_exact(own.products[at], near[at].row, own);
    }

    // Terms of one row only add nothing.
    void score_sparse(size_t place, Scratch& own) const {
        own.query.resize(rows_.n_columns);
        own.query.set(rows_.exact_row(place));
        const size_t end = (place + 1) * kept_;
        for (size_t at = place * kept_; at < end && near_[at].row >= 0; ++at) {
            const int32_t row = near_[at].row;
            if (at + 1 < end && near_[at + 1].row >= 0) prefetch(near_[at + 1].row);
            add_exact(exact_dot(rows_.exact_row(row), own.query.data()), row, own);
        }
        own.query.clear(rows_.exact_row(place));
    }

    void add_exact(double sum, int32_t row, Scratch& own) const {
        const auto score = static_cast<float>(sum);
        if (score > 0) own.exact.push_back({score, cells_.order[row]});
    }

    void prefetch(int32_t place) const {
        for (int64_t at = rows_.indptr[place]; at < rows_.indptr[place + 1]; at += 16) {
            STHASH_PREFETCH(rows_.columns.data() + at);
            STHASH_PREFETCH(rows_.exact.data() + at);
        }
    }

    SparseRow row_at(size_t place) const { return given_.row(chosen_[cells_.order[place]]); }

    RowsView given_;
    const std::vector<int32_t>& chosen_;
    size_t n_;
    ApproximateOptions options_;
    int threads_;
    StopFlag& stop_;
    Progress& progress_;
    size_t kept_;  // neighbors per row until the end
    size_t n_blocks_ = 0;
    Cells cells_;
    QuantizedRows rows_;  // in the order of the cells, as are all rows below
    RarePostings rare_;
    std::vector<Near> near_, reverse_;
    std::vector<Scratch> scratch_;
};

}  // namespace

NeighborLists approximate_neighbors(const RowsView& rows, size_t n_columns, const ApproximateOptions& options,
                                    int threads, StopFlag& stop, Progress& progress) {
    const EqualRows equal = find_equal_rows(rows, threads, stop);
    NeighborLists among_distinct(equal.n(), options.k);
    if (equal.n() > 1)
        among_distinct = ApproximateNeighbors(rows, equal.first, n_columns, options, threads, stop, progress).search();
    return with_copies(rows, equal, among_distinct, threads, stop);
}

}  // namespace sthash::graph
