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
    enum class Plan { cheapest, exact, cells } plan;
    bool estimated;  // whether estimates are scores, and decide
};

// The rows of a snapshot that a search may find.
struct Selection {
    Selection(const Snapshot& snapshot, std::vector<uint32_t> live_slots);  // ascending

    bool has(uint32_t slot) const { return (bits[slot / 64] >> (slot % 64) & 1) != 0; }

    std::vector<uint32_t> slots;
    std::vector<uint64_t> bits;  // one per slot
    std::vector<int32_t> sizes;  // rows per cell
};

// Answers a request on a snapshot; a selection of its rows may restrict it.
//
// A score is the product of query and vector. An exact search scores every row that it may find, and so does any search
// for which that costs no more, unless its plan says otherwise. Otherwise only cells with such rows count. A cell is
// rated by the product of its center and the query, times the weight of the cell. Candidates are the rows with the
// largest estimates within the cells that are rated at most `margin` below the best one; among equal ones, those in the
// best cells, then those that were added first. There are at most `probes` cells, and more than those within the margin
// if they have too few rows for the candidates. A search always finds k rows, or all of them: it looks into as many
// cells as that takes. If scores are estimated, a search goes through cells, and equal estimates are in the order of
// the cells, then of the slots.
class Search {
 public:
    Search(const Snapshot& snapshot, const Request& request, const Selection* selection);

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
    const Selection* selection_;
    bool exact_;
    double cost_;  // per query
};

}  // namespace sthash::cells
