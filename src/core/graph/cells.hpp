// A partition of rows into cells of similar rows.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/quantized_rows.hpp"
#include "parallel.hpp"

namespace sthash::graph {

struct CellOptions {
    size_t n_cells;
    size_t choices;  // nearest cells that each row remembers
    size_t largest;  // rows per cell at most
    uint64_t seed;
};

// No cell holds more than `largest` rows: a row goes to the nearest of its choices that has space. Rows whose choices
// are all full fill cells of their own, at the end.
struct Cells {
    size_t n() const { return starts.size() - 1; }

    size_t choices;
    std::vector<int32_t> order;    // all rows, cell by cell; similar rows of a cell are close to each other
    std::vector<int32_t> starts;   // n + 1: the cell c has the places starts[c] … starts[c + 1] - 1 of `order`
    std::vector<int32_t> cell;     // by place in `order`
    std::vector<int32_t> nearest;  // by place in `order`, `choices` each: the nearest cells, best first; -1 where none
};

// Finds the cells by k-means on a sample, by cosine.
Cells make_cells(const QuantizedRows& rows, const CellOptions& options, int threads, StopFlag& stop);

}  // namespace sthash::graph
