// Rows that are equal, column for column: only one of each group has to be searched for.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/neighbors.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace sthash::graph {

// Groups are numbered by their first rows.
struct EqualRows {
    size_t n() const { return first.size(); }

    std::vector<int32_t> first;   // the first row of each group
    std::vector<int32_t> group;   // by row
    std::vector<int32_t> starts;  // n + 1: the group g has the rows members[starts[g] … starts[g + 1] - 1], ascending
    std::vector<int32_t> members;
};

EqualRows find_equal_rows(const RowsView& rows, int threads, StopFlag& stop);

// Lists of neighbors among groups, turned into lists among all rows: a neighbor stands for all rows of its group, and
// the other rows of the own group are neighbors too, unless they are zero.
NeighborLists with_copies(const RowsView& rows, const EqualRows& equal, const NeighborLists& groups, int threads,
                          StopFlag& stop);

}  // namespace sthash::graph
