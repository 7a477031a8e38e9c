// Search among vectors that are grouped into cells: codes choose candidates, the vectors decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells/snapshot.hpp"
#include "parallel.hpp"

namespace sthash::cells {

struct Request {
    size_t count, k, probes, candidates;  // candidates ≥ k
    float margin;                         // of cells
    const float* queries;                 // count × dimension
    bool exact;
};

// Answers a request on a snapshot; `allowed` may restrict it to some live slots, ascending.
//
// A score is the product of query and vector. An exact search scores every row, and so does any search for which that
// costs no more. Otherwise a cell is rated by the product of its center and the query, times the weight of the cell.
// Candidates are the rows with the largest estimates within the cells that are rated at most `margin` below the best
// one; among equal ones, those in the best cells, then those that were added first. There are at most `probes` cells,
// and more than those within the margin if they have too few rows for the candidates. A search always finds k rows, or
// all of them: it looks into as many cells as that takes.
class Search {
 public:
    Search(const Coder& coder, const Snapshot& snapshot, const Request& request, const std::vector<uint32_t>* allowed);

    // Values that will be multiplied, about.
    double cost() const { return cost_ * static_cast<double>(request_.count); }

    // Fills k ids and scores per query, best first, equal ones by id; -1 and -infinity where there are fewer.
    void run(int64_t* ids, float* scores, int threads, StopFlag& stop) const;

 private:
    void score_everything(int64_t* ids, float* scores, int threads, StopFlag& stop) const;
    void search_cells(int64_t* ids, float* scores, int threads, StopFlag& stop) const;

    const Coder& coder_;
    const Snapshot& snapshot_;
    const Request request_;
    const std::vector<uint32_t>* allowed_;
    bool exact_;
    double cost_;  // per query
};

}  // namespace sthash::cells
