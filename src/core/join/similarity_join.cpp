#include "join/similarity_join.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "join/components.hpp"
#include "join/lists.hpp"

namespace sthash::join {

namespace {

constexpr double kRounding = 1e-6;  // of values in single precision
constexpr size_t kBlockRows = 1 << 14;
// Rows looked at in the list of a column that is too frequent to look at all.
constexpr size_t kReach = 1000;
// Rows of sets that are similar enough are met in so many columns, if they share so many.
constexpr uint32_t kMeetings = 3;

struct Score {
    Measure measure;
    double threshold;

    // The least product of two rows that are similar enough.
    double needed(double left, double right) const {
        if (measure == Measure::cosine) return threshold * std::sqrt(left * right);
        if (measure == Measure::jaccard) return threshold / (1 + threshold) * (left + right);
        return threshold * left;
    }

    double of(double product, double left, double right) const {
        if (measure == Measure::jaccard) return product / (left + right - product);
        if (measure == Measure::containment) return product / left;
        const double cosine = product / std::sqrt(left * right);
        return cosine > 1 - kRounding ? 1 : cosine;
    }

    // The share of its squared length that the end of a row must have to reach the threshold without the rest.
    double least_rest() const {
        // Of a set the squared length is the size, and similar sets share at least that much of it.
        return measure == Measure::cosine ? threshold * threshold : threshold;
    }

    bool sizes_fit(float left, float right) const {
        if (measure == Measure::cosine) return true;
        if (measure == Measure::containment) return right >= threshold * left * (1 - kRounding);
        return std::min(left, right) >= threshold * std::max(left, right) * (1 - kRounding);
    }
};

struct Found {
    int32_t row;
    double score;
};

}  // namespace

class SimilarityJoin::Impl {
 public:
    Impl(const JoinProblem& problem, int threads, StopFlag& stop)
        : score_{problem.measure, problem.threshold},
          chosen_(problem.chosen, problem.chosen + problem.n_chosen),
          position_(problem.first_query),
          most_per_row_(problem.most_per_row),
          most_pairs_(problem.most_pairs),
          threads_(threads),
          marks_(problem.marks),
          exclusive_(exclusive(problem)),
          rows_(rarest_first(problem.rows, problem.n_columns, chosen_, exclusive_, threads, stop)),
          joined_(problem.n_chosen),
          nearest_(problem.n_chosen, 0.0) {
        for (size_t i = 0; i < chosen_.size(); ++i)
            squares_.push_back(problem.squares[chosen_[i]] + static_cast<float>(common(i)));
        cut_prefixes();
        const bool all = problem.measure == Measure::containment;
        lists_ = ColumnLists(rows_, all ? rows_.ends() : prefix_end_.data(), exclusive_);
        longest_ = lists_.longest_within(visits(), position_);
        complete_ = longest_ == std::numeric_limits<int64_t>::max();
        if (!complete_ && !all)
            alike_ = AlikeRows(rows_, prefix_end_.data(), lists_, longest_, position_, threads, stop);
    }

    SimilarPairs next(StopFlag& stop) {
        const size_t first = position_, end = std::min(size(), first + kBlockRows);
        std::vector<std::vector<Found>> found(end - first);
        std::vector<std::vector<uint32_t>> seen(std::max(threads_, 1));
        parallel_for(end - first, 64, threads_, stop, [&](size_t from, size_t to, int thread) {
            seen[thread].resize(size(), 0);
            for (size_t i = from; i < to; ++i) search(first + i, seen[thread], found[i]);
        });
        SimilarPairs pairs;
        if (stop.load()) return pairs;
        for (size_t i = 0; i < found.size(); ++i) list(first + i, found[i], pairs);
        position_ = end;
        return pairs;
    }

    size_t position() const { return position_; }
    size_t size() const { return chosen_.size(); }
    bool complete() const { return complete_; }
    const std::vector<double>& nearest() const { return nearest_; }

 private:
    // Runs of characters are compared if one of the texts has no pairs of words.
    static std::vector<uint8_t> exclusive(const JoinProblem& problem) {
        std::vector<uint8_t> found;
        if (!problem.marks) return found;
        for (size_t i = 0; i < problem.n_chosen; ++i) {
            const int64_t row = problem.chosen[i];
            found.push_back(row % 2 == 1 && problem.squares[row - 1] > 0);
        }
        return found;
    }

    size_t n_queries() const { return size() - position_; }

    // Enough rows per list for any but the most repetitive texts; few enough for the time to grow with the rows only.
    double visits() const { return 5e7 + 2000.0 * static_cast<double>(n_queries()); }

    void cut_prefixes() {
        prefix_end_.resize(size());
        for (size_t i = 0; i < size(); ++i) {
            double rest = common(i);
            for (int64_t at = rows_.begin(i); at < rows_.end(i); ++at)
                rest += double{rows_.weights[at]} * rows_.weights[at];
            const double least = score_.least_rest() * squares_[i] * (1 - kRounding);
            int64_t at = rows_.begin(i);
            for (; at < rows_.end(i) && rest >= least; ++at) rest -= double{rows_.weights[at]} * rows_.weights[at];
            // Of a longer prefix, similar sets share several columns.
            prefix_end_[i] = marks_ ? std::min(at + kMeetings - 1, rows_.end(i)) : at;
        }
    }

    // In how many columns of its prefix a similar row is met at least.
    uint32_t meetings(size_t row) const {
        if (!marks_ || longest_ != std::numeric_limits<int64_t>::max()) return 1;
        const double shared = score_.threshold * squares_[row] - common(row);
        return static_cast<uint32_t>(std::clamp(std::ceil(shared - kRounding), 1.0, double{kMeetings}));
    }

    void search(size_t row, std::vector<uint32_t>& seen, std::vector<Found>& found) const {
        const bool contains = score_.measure == Measure::containment;
        const auto mark = static_cast<uint32_t>(row + 1) * (kMeetings + 1);
        const uint32_t enough = mark + meetings(row);
        const bool is_exclusive = marks_ && exclusive_[row] != 0;
        const auto look_at = [&](int32_t other) {
            uint32_t& met = seen[other];
            if (met >= enough) return;
            met = std::max(met, mark) + 1;
            if (met < enough) return;
            if (score_.sizes_fit(squares_[row], squares_[other])) compare(row, other, found);
        };
        seen[row] = enough;
        for (int64_t at = rows_.begin(row); at < prefix_end_[row]; ++at) {
            const int32_t column = rows_.columns[at];
            const bool frequent = lists_.length(column) > longest_;
            if (frequent && !contains) continue;
            const auto list = lists_.of(column);
            size_t left = frequent ? kReach : list.size();
            for (const int32_t other : list) {
                if (left-- == 0 || (!contains && static_cast<size_t>(other) >= row)) break;
                look_at(other);
            }
            if (is_exclusive) continue;
            for (const int32_t other : lists_.exclusive_of(column)) {
                if (static_cast<size_t>(other) >= row) break;
                look_at(other);
            }
        }
        for (const int32_t other : alike_.of(row)) look_at(other);
    }

    // What any two rows of `Wording` share without a column of their own.
    double common(size_t row) const { return !marks_ ? 0 : chosen_[row] % 2 == 0 ? kCommonPairs : kCommonRuns; }

    bool apart(size_t row, size_t other, double product) const {
        const int64_t left = chosen_[row] / 2, right = chosen_[other] / 2;
        const Difference difference{chosen_[row] % 2 == 0, std::llround(squares_[row] - product),
                                    std::llround(squares_[other] - product)};
        return kept_apart(marks_.items + marks_.indptr[left], marks_.items + marks_.indptr[left + 1],
                          marks_.items + marks_.indptr[right], marks_.items + marks_.indptr[right + 1], difference,
                          marks_.keep_numbers);
    }

    void compare(size_t row, int32_t other, std::vector<Found>& found) const {
        if (marks_ && exclusive_[row] != 0 && exclusive_[other] != 0) return;
        const double left = squares_[row], right = squares_[other];
        const double needed = score_.needed(left, right) * (1 - kRounding);
        const bool of_sets = score_.measure != Measure::cosine;
        const double product = of_sets ? size_shared(row, other, needed) : product_of(row, other, needed);
        if (product < needed) return;
        double score = score_.of(product, left, right);
        if (marks_) score = std::min(score, kNearlyOne);
        if (score < score_.threshold) return;
        if (!marks_ || !apart(row, static_cast<size_t>(other), product)) found.push_back({other, score});
    }

    // How many columns two sets share, the rarest first, as long as it can still be enough.
    double size_shared(size_t row, int32_t other, double needed) const {
        const double common_to_all = common(row);
        const auto least = static_cast<int64_t>(std::ceil(needed - common_to_all));
        const int32_t *a = rows_.columns.data() + rows_.begin(row), *b = rows_.columns.data() + rows_.begin(other);
        const int32_t *const a_end = rows_.columns.data() + rows_.end(row), *const b_end =
                                                                                rows_.columns.data() + rows_.end(other);
        int64_t shared = 0;
        while (a < a_end && b < b_end && shared + std::min(a_end - a, b_end - b) >= least) {
            const int32_t column_a = *a, column_b = *b;
            shared += column_a == column_b;
            a += column_a <= column_b;
            b += column_b <= column_a;
        }
        return static_cast<double>(shared) + common_to_all;
    }

    // The product of two rows, the rarest columns first, as long as it can still be large enough.
    double product_of(size_t row, int32_t other, double needed) const {
        int64_t a = rows_.begin(row), b = rows_.begin(other);
        const int64_t a_end = rows_.end(row), b_end = rows_.end(other);
        double product = 0, rest_a = rows_.shared_squares[row], rest_b = rows_.shared_squares[other];
        while (a < a_end && b < b_end) {
            const int32_t column_a = rows_.columns[a], column_b = rows_.columns[b];
            const double value_a = rows_.weights[a], value_b = rows_.weights[b];
            if (column_a == column_b) product += value_a * value_b;
            if (column_a <= column_b) rest_a -= value_a * value_a, ++a;
            if (column_b <= column_a) rest_b -= value_b * value_b, ++b;
            const double missing = needed - product;
            if (missing > 0 && missing * missing > rest_a * rest_b * (1 + kRounding) + kRounding * needed * needed)
                break;
        }
        return product;
    }

    // Lists the best pairs of a row; of the others only those that join rows not joined yet.
    void list(size_t row, std::vector<Found>& found, SimilarPairs& pairs) {
        const auto better = [](const Found& a, const Found& b) {
            return a.score != b.score ? a.score > b.score : a.row < b.row;
        };
        for (const Found& pair : found)
            for (const size_t end : {row, static_cast<size_t>(pair.row)})
                nearest_[end] = std::max(nearest_[end], pair.score);
        const size_t count = listed_ < most_pairs_ ? found.size() : std::min(found.size(), most_per_row_);
        std::partial_sort(found.begin(), found.begin() + count, found.end(), better);
        const auto add = [&](const Found& pair) {
            const bool contains = score_.measure == Measure::containment;
            pairs.left.push_back(chosen_[contains ? row : static_cast<size_t>(pair.row)]);
            pairs.right.push_back(chosen_[contains ? static_cast<size_t>(pair.row) : row]);
            pairs.scores.push_back(pair.score);
            ++listed_;
        };
        for (size_t place = 0; place < count; ++place) {
            joined_.join(static_cast<int32_t>(row), found[place].row);
            add(found[place]);
        }
        if (count < found.size()) {
            complete_ = false;
            std::sort(found.begin() + count, found.end(), better);
        }
        for (size_t place = count; place < found.size(); ++place)
            if (joined_.join(static_cast<int32_t>(row), found[place].row)) add(found[place]);
    }

    Score score_;
    std::vector<int64_t> chosen_;
    std::vector<float> squares_;
    size_t position_;
    size_t most_per_row_, most_pairs_;
    size_t listed_ = 0;
    int threads_;
    Marks marks_;
    std::vector<uint8_t> exclusive_;
    RankedRows rows_;
    std::vector<int64_t> prefix_end_;
    ColumnLists lists_;
    int64_t longest_ = 0;
    AlikeRows alike_;
    Components joined_;
    std::vector<double> nearest_;
    bool complete_ = true;
};

SimilarityJoin::SimilarityJoin(const JoinProblem& problem, int threads, StopFlag& stop)
    : impl_(std::make_unique<Impl>(problem, threads, stop)) {}
SimilarityJoin::~SimilarityJoin() = default;
SimilarPairs SimilarityJoin::next(StopFlag& stop) {
    return impl_->next(stop);
}
bool SimilarityJoin::done() const {
    return impl_->position() == impl_->size();
}
size_t SimilarityJoin::position() const {
    return impl_->position();
}
size_t SimilarityJoin::size() const {
    return impl_->size();
}
bool SimilarityJoin::complete() const {
    return impl_->complete();
}
const std::vector<double>& SimilarityJoin::nearest() const {
    return impl_->nearest();
}

}  // namespace sthash::join
