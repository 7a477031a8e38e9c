// Sets of shingles: runs of w words, each as one 64-bit hash.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "text/counter.hpp"

namespace sthash::join {

// Set i has items[indptr[i]:indptr[i + 1]], ascending, each once.
struct Sets {
    std::vector<int64_t> indptr;
    std::vector<uint64_t> items;
};

// The shingles of each text, in order of their hashes. A text of fewer than `size` words, but not of none, has one: all
// its words. `hashes` has one entry per word of the table.
Sets shingle_sets(const text::WordsView& texts, const uint64_t* hashes, size_t size, int threads, StopFlag& stop);

// A set as the columns of a sparse row: items that only one set has are left out. Which column an item has does not
// depend on the number of threads.
struct SharedColumns {
    std::vector<int64_t> indptr;
    std::vector<int32_t> columns;  // in each row each once, in the order of its items
    size_t n_columns = 0;
};

SharedColumns shared_columns(const int64_t* indptr, size_t n_sets, const uint64_t* items, int threads, StopFlag& stop);

}  // namespace sthash::join
