// Unit rows in small integers, and blocks of them as queries: 16 bits per weight of sparse rows, 8 of dense ones.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/block_kernels.hpp"
#include "graph/ranked_rows.hpp"
#include "rows.hpp"

namespace sthash::graph {

// A weight, at most 1, in 16 bits. A little less than 2^15 times as large, so that no sum leaves the range.
int16_t quantized(float weight);

// The rows of a matrix, whose lengths are at most 1. Those of a sparse matrix have `indptr`, `columns`, `weights` and
// `exact`, those of a dense one `bytes`, `factors` and `offsets`, as block_kernels.hpp explains them.
struct QuantizedRows {
    size_t n() const { return n_rows; }
    bool dense() const { return width > 0; }
    QuantizedView view() const {
        return {indptr.data(),  columns.data(), weights.data(), dense() ? bytes.data() : nullptr,
                factors.data(), offsets.data(), width};
    }

    // A sparse row with its exact weights.
    SparseRow exact_row(size_t i) const {
        return {columns.data() + indptr[i], exact.data() + indptr[i],
                static_cast<ptrdiff_t>(indptr[i + 1] - indptr[i])};
    }

    size_t n_rows = 0;
    size_t n_columns = 0;
    size_t width = 0;  // of dense rows: n_columns, rounded up to a multiple of 4; 0 if sparse
    std::vector<int64_t> indptr;
    std::vector<int32_t> columns;
    std::vector<int16_t> weights;
    std::vector<float> exact;  // the weights as they are
    std::vector<int8_t> bytes;
    std::vector<float> factors;
    std::vector<int32_t> offsets;
};

// Dense rows of zeros.
QuantizedRows dense_rows(size_t n_rows, size_t n_columns);

// Sets a dense row: the largest of its values becomes 127 or -127.
void set_row(QuantizedRows& rows, size_t row, const float* values);

// Makes a dense row one of the queries of a block, whose bytes block_kernels.hpp explains.
void set_query(const QuantizedRows& rows, size_t row, size_t query, uint8_t* block);

// The sparse rows order[0], order[1], …, without terms that no other row has.
QuantizedRows quantized_rows(const RankedRows& rows, const std::vector<int32_t>& order);

// The dense rows order[0], order[1], …
QuantizedRows quantized_rows(const RowsView& rows, const std::vector<int32_t>& order, int threads);

// Copies a dense row.
void copy_dense_row(const QuantizedRows& rows, size_t from, QuantizedRows& result, size_t to);

// Copies a sparse row to the end, without its exact weights.
void add_sparse_row(const QuantizedRows& rows, size_t row, QuantizedRows& result);

// The rows which[0], which[1], …, without exact weights.
QuantizedRows some_rows(const QuantizedRows& rows, const std::vector<int32_t>& which);

// Up to 32 rows as queries. Memory of one thread, kept from block to block.
class QueryBlock {
 public:
    // Takes the rows first … first + count - 1.
    void load(const QuantizedRows& rows, size_t first, size_t count);

    // Finds, for each query, the k rows of `others` with the largest scores among `proposed`, where each row may occur
    // only once. Queries are not compared with themselves if `others` are the rows that they come from.
    // A score must be above thresholds[q], which is raised meanwhile.
    void search(const QuantizedRows& others, bool same, const std::vector<int32_t>& proposed, size_t k,
                int16_t* thresholds);

    // What was found for query q, best first, as keys.
    std::vector<uint64_t>& best(size_t q, size_t k);

    // A key is a score in the upper half, and the complement of the row in the lower one: the best key is the largest,
    // and of equal scores the lower row comes first.
    static uint64_t key_of(int16_t score, int32_t row) {
        return static_cast<uint64_t>(static_cast<int32_t>(score) + 32768) << 32 | ~static_cast<uint32_t>(row);
    }

    static int32_t row_of(uint64_t key) { return static_cast<int32_t>(~static_cast<uint32_t>(key)); }
    static int16_t score_of(uint64_t key) { return static_cast<int16_t>(static_cast<int32_t>(key >> 32) - 32768); }

 private:
    size_t first_ = 0, count_ = 0;
    bool dense_ = false;
    std::vector<uint8_t> bytes_;
    float factors_[kBlockSize] = {};
    std::vector<uint16_t> slots_;  // by column; zero between blocks
    std::vector<int32_t> used_;    // columns with a slot
    std::vector<int16_t> weights_;
    std::vector<int32_t> reached_;
    std::vector<uint32_t> above_;
    std::vector<int16_t> scores_;
    std::vector<uint64_t> found_[kBlockSize];
};

}  // namespace sthash::graph
