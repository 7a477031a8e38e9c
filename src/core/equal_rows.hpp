// Rows that are equal to an earlier one.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace sthash {

// For each row the first one whose columns and values have the same bytes, in the same order; of dense rows the values.
std::vector<int64_t> first_equal_rows(const RowsView& rows, int threads, StopFlag& stop);

// The same for sets: set i has items[bounds[i]:bounds[i + 1]].
std::vector<int64_t> first_equal_sets(const int64_t* bounds, size_t n_sets, const uint64_t* items, int threads,
                                      StopFlag& stop);

}  // namespace sthash
