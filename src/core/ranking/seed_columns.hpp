// The vectors of the first hits of a query by column, as the re-ranking needs them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "compiler.hpp"
#include "rows.hpp"

namespace sthash::ranking {

// More than a float is off by, as a share of it.
constexpr double kRounding = 1e-7;

// Asks for a vector, which may be anywhere in memory, before it is needed. It must be inlined: GCC takes a function
// that only prefetches for one without effects, and drops its calls.
STHASH_INLINE void prefetch(const RowsView& vectors, int64_t place) {
    const SparseRow row = vectors.row(static_cast<size_t>(place));
    for (ptrdiff_t at = 0; at < row.size; at += 16) {
        STHASH_PREFETCH(row.indices + at);
        STHASH_PREFETCH(row.values + at);
    }
}

// Asks for the bounds of a vector before that.
STHASH_INLINE void prefetch_bounds(const RowsView& vectors, int64_t place) {
    STHASH_PREFETCH(vectors.starts + place);
    STHASH_PREFETCH(vectors.ends + place);
}

// A column of a vector that a seed has too: the number of the column's list, and the vector's value.
struct Match {
    uint32_t list;
    float value;
};

// A column of a seed that another seed has too: its row of the table, and the seed's value.
struct SharedMatch {
    uint32_t row;
    float value;
};

// Inner loops. `stride` is a multiple of 16.
struct RerankingKernels {
    // Adds `factor` times each value to the sum at its place.
    void (*add_row)(const float* values, float factor, ptrdiff_t stride, float* sums);
    // For each of `stride` places, the sum over all matches of their value times that of their row, in their order.
    void (*add_rows)(const SharedMatch* matches, ptrdiff_t count, const float* table, ptrdiff_t stride, float* sums);
};

// A value per column, 0 where none is set. It has space for all columns, of which few are set at a time, and is kept
// for the next query of the thread: memory that nobody touches costs nothing, and clearing it all would.
template <class T>
class ColumnMap {
 public:
    // All columns are 0 afterwards, if the caller has cleared those that it has set.
    void reserve(size_t n_columns) {
        if (n_columns <= size_) return;
        values_.reset(static_cast<T*>(std::calloc(n_columns, sizeof(T))));
        size_ = values_ ? n_columns : 0;
        if (!values_) throw std::bad_alloc();
    }
    T& operator[](int32_t column) { return values_.get()[column]; }
    const T& operator[](int32_t column) const { return values_.get()[column]; }
    const T* data() const { return values_.get(); }

 private:
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    std::unique_ptr<T, Free> values_;
    size_t size_ = 0;
};

// The vectors of the seeds, by column. Each column has a list, numbered from 1 on; columns that no seed has have list
// 0. A list of several seeds is a row of a table with a value per seed and zeros for the others: to add these is faster
// than to jump. Most lists have one seed, and need no row.
class SeedColumns {
 public:
    // `weights` are those of the first vectors, which make up the centroid. `alone` says that no other vectors will be
    // compared with these: match, add_products, most_product and centroid_norm must not be called.
    void set(const RowsView& vectors, const int64_t* places, size_t count, const float* weights, size_t n_weights,
             bool alone);

    // The columns of a vector that seeds have too.
    void match(const SparseRow& row, std::vector<Match>& matches) const;

    // The inner product with the centroid: of another vector, or of a seed that is not part of it.
    double centroid_product(std::span<const Match> matches) const;
    double centroid_product(size_t seed) const;

    // At least as much for another vector, for less work. It has unit length.
    double most_product(const SparseRow& row) const;

    // Adds the inner product of another vector with each seed; there are `stride` sums. The order of the additions is
    // that of the columns.
    void add_products(std::span<const Match> matches, float* products) const;

    // Sets the inner product of a seed with each other seed, and that with itself to 0.
    void set_products(size_t seed, float* products) const;

    double centroid_norm() const { return centroid_norm_; }

    // The number of seeds, rounded up for whole vectors of the processor.
    size_t stride() const { return stride_; }

    // To be called after the last query.
    void clear();

 private:
    static constexpr size_t kStep = 16;
    static constexpr int32_t kNoRow = -1;
    struct Entry {
        int32_t seed;
        float value;
    };

    std::span<const SharedMatch> shared(size_t seed) const {
        return {shared_.data() + shared_bounds_[seed], shared_.data() + shared_bounds_[seed + 1]};
    }
    void read(const RowsView& vectors, const int64_t* places, size_t count);
    void set_table(size_t count);
    void set_centroid(const float* weights, size_t n_weights, bool alone);

    const RerankingKernels* kernels_ = nullptr;
    ColumnMap<uint32_t> map_;  // the number of the column's list
    ColumnMap<float> dense_centroid_;
    bool cleared_centroid_ = true;       // whether it is 0 everywhere
    std::vector<int32_t> columns_;       // per list from the first on: that are set in the maps
    std::vector<uint32_t> frequencies_;  // per list: of how many seeds
    std::vector<Entry> last_;            // per list: its last entry, which is the only one if it has no row
    std::vector<int32_t> row_of_;        // per list, or kNoRow
    std::vector<Match> matches_;         // of all seeds, with all columns
    std::vector<size_t> bounds_;         // of the matches per seed
    std::vector<SharedMatch> shared_;    // of all seeds, with the columns that have rows
    std::vector<size_t> shared_bounds_;
    size_t stride_ = 0;
    std::vector<float> table_;
    std::vector<double> centroid_;         // per list
    std::vector<double> shared_centroid_;  // per row
    double centroid_norm_ = 0;
};

}  // namespace sthash::ranking
