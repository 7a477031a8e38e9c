// All pairs of rows that are similar enough: an exact similarity join by prefix filtering (Bayardo, Ma, Srikant:
// Scaling Up All Pairs Similarity Search, WWW 2007).
//
// The columns of a row are put in order, the rarest first. Its prefix is cut where what follows is too short to reach
// the threshold alone. Two similar rows therefore share a column of both prefixes, and only rows that do are compared.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "join/wording.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace sthash::join {

enum class Measure {
    cosine,
    jaccard,      // of sets: rows whose values are all 1
    containment,  // of sets: the share of the left one that the right one has
};

struct JoinProblem {
    RowsView rows;          // no negative values
    const int64_t* chosen;  // those that are compared, ascending
    size_t n_chosen;
    size_t n_columns;
    // The squared length of each row. It may exceed that of the values given: columns that no other row has may be left
    // out of the rows, though not of their length.
    const float* squares;
    Measure measure;
    double threshold;    // above 0
    size_t first_query;  // pairs are found for the chosen ones from here on, each with all before it
    // Pairs per row that are listed, the most similar first; further ones are if they join rows not joined yet.
    size_t most_per_row;
    // All pairs are listed as long as there are not more of them than this.
    size_t most_pairs;
    // For the sets of `Wording`, two rows per text, compared by Jaccard: the marks of the texts. Rows are then compared
    // by pairs of words if both texts have some, else by runs of characters, and pairs to be kept apart are none.
    Marks marks = {};
};

// The score of sets that are not equal, though all that counts of them may be.
inline constexpr double kNearlyOne = 0.999;

// Row `left[i]` and row `right[i]` have the similarity `scores[i]`. The smaller row is left, but for containment, whose
// left row is the one contained.
struct SimilarPairs {
    std::vector<int64_t> left, right;
    std::vector<double> scores;
};

class SimilarityJoin {
 public:
    // Copies what it needs of the rows.
    SimilarityJoin(const JoinProblem& problem, int threads, StopFlag& stop);
    ~SimilarityJoin();

    // The pairs of the next rows; there may be none of them.
    SimilarPairs next(StopFlag& stop);

    bool done() const;

    // Chosen rows that have been searched for, and how many there are.
    size_t position() const;
    size_t size() const;

    // False where there were too many similar rows to list every pair. The pairs listed still join all that the pairs
    // found would join, and where a column was so frequent that not all its rows were compared, those most alike were.
    bool complete() const;

    // Of each chosen row, the highest score of all pairs found so far, listed or not; 0 if there are none.
    const std::vector<double>& nearest() const;

 private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sthash::join
