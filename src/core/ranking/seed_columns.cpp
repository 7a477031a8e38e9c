#include "ranking/seed_columns.hpp"

#include <algorithm>
#include <cmath>

#include "dot.hpp"
#include "simd.hpp"

#define STHASH_KERNELS "ranking/reranking.inc"
#define STHASH_FAMILY reranking_kernels
#include "each_path.inc"

namespace sthash::ranking {

void SeedColumns::set(const RowsView& vectors, const int64_t* places, size_t count, const float* weights,
                      size_t n_weights, bool alone) {
    kernels_ = &STHASH_PICK(reranking_kernels::kKernels);
    read(vectors, places, count);
    set_table(count);
    if (!alone) dense_centroid_.reserve(vectors.n_columns);
    set_centroid(weights, n_weights, alone);
}

// Numbers the columns of all seeds. There are no branches in the loop: which columns are new cannot be foreseen.
void SeedColumns::read(const RowsView& vectors, const int64_t* places, size_t count) {
    size_t entries = 0;
    for (size_t seed = 0; seed < count; ++seed) {
        entries += static_cast<size_t>(vectors.row(static_cast<size_t>(places[seed])).size);
        prefetch(vectors, places[seed]);
    }
    clear();
    map_.reserve(vectors.n_columns);
    matches_.resize(entries);
    columns_.resize(entries + 1);
    last_.resize(entries + 1);
    frequencies_.assign(entries + 1, 0);
    bounds_.assign(1, 0);
    Match* match = matches_.data();
    int32_t* const columns = columns_.data();
    uint32_t lists = 0;
    for (size_t seed = 0; seed < count; ++seed) {
        const SparseRow row = vectors.row(static_cast<size_t>(places[seed]));
        for (ptrdiff_t at = 0; at < row.size; ++at) {
            const int32_t column = row.indices[at];
            const uint32_t held = map_[column];
            columns[lists] = column;
            lists += held == 0;
            const uint32_t list = held == 0 ? lists : held;
            map_[column] = list;
            ++frequencies_[list];
            last_[list] = {static_cast<int32_t>(seed), row.values[at]};
            *match++ = {list, row.values[at]};
        }
        bounds_.push_back(static_cast<size_t>(match - matches_.data()));
    }
    columns_.resize(lists);
}

void SeedColumns::set_table(size_t count) {
    const size_t lists = columns_.size() + 1;
    stride_ = (count + kStep - 1) / kStep * kStep;
    row_of_.resize(lists);
    int32_t rows = 0;
    for (size_t list = 0; list < lists; ++list) {
        const bool several = frequencies_[list] > 1;
        row_of_[list] = several ? rows : kNoRow;
        rows += several;
    }
    table_.assign(static_cast<size_t>(rows) * stride_, 0);
    shared_.resize(matches_.size() + 1);
    shared_bounds_.assign(1, 0);
    size_t kept = 0;
    for (size_t seed = 0; seed < count; ++seed) {
        const size_t first = kept;
        for (size_t at = bounds_[seed]; at < bounds_[seed + 1]; ++at) {
            const int32_t row = row_of_[matches_[at].list];
            shared_[kept] = {static_cast<uint32_t>(row), matches_[at].value};
            kept += row != kNoRow;
        }
        for (size_t at = first; at < kept; ++at) table_[shared_[at].row * stride_ + seed] = shared_[at].value;
        shared_bounds_.push_back(kept);
    }
}

void SeedColumns::set_centroid(const float* weights, size_t n_weights, bool alone) {
    centroid_.assign(row_of_.size(), 0);
    size_t lists = 1;  // lists are numbered in the order in which their columns come
    for (size_t seed = 0; seed < n_weights; ++seed)
        for (size_t at = bounds_[seed]; at < bounds_[seed + 1]; ++at) {
            const Match& own = matches_[at];
            centroid_[own.list] += static_cast<double>(weights[seed]) * own.value;
            lists = std::max<size_t>(lists, own.list + 1);
        }
    shared_centroid_.assign(row_of_.size() + 1, 0);
    for (size_t list = 1; list < lists; ++list)
        shared_centroid_[static_cast<size_t>(row_of_[list] + 1)] = centroid_[list];
    if (alone) return;
    double squares = 0;
    for (size_t list = 1; list < lists; ++list) {
        squares += centroid_[list] * centroid_[list];
        dense_centroid_[columns_[list - 1]] = static_cast<float>(centroid_[list]);
    }
    cleared_centroid_ = false;
    centroid_norm_ = std::sqrt(squares);
}

void SeedColumns::match(const SparseRow& row, std::vector<Match>& matches) const {
    matches.resize(static_cast<size_t>(row.size));
    Match* to = matches.data();
    for (ptrdiff_t at = 0; at < row.size; ++at) {
        const uint32_t list = map_[row.indices[at]];
        *to = {list, row.values[at]};
        to += list != 0;
    }
    matches.resize(static_cast<size_t>(to - matches.data()));
}

double SeedColumns::centroid_product(std::span<const Match> matches) const {
    double product = 0;
    for (const Match& match : matches) product += centroid_[match.list] * match.value;
    return product;
}

// What only this seed has is not in the centroid.
double SeedColumns::centroid_product(size_t seed) const {
    double product = 0;
    for (const SharedMatch& match : shared(seed)) product += shared_centroid_[match.row + 1] * match.value;
    return product;
}

double SeedColumns::most_product(const SparseRow& row) const {
    // The product of single precision is off by at most (row.size + 2) 2^-24 times the product of the lengths.
    return dot(row, dense_centroid_.data()) + kRounding * static_cast<double>(row.size + 2) * centroid_norm_;
}

void SeedColumns::add_products(std::span<const Match> matches, float* products) const {
    for (const Match& match : matches) {
        const int32_t row = row_of_[match.list];
        if (row != kNoRow)
            kernels_->add_row(table_.data() + static_cast<size_t>(row) * stride_, match.value,
                              static_cast<ptrdiff_t>(stride_), products);
        else
            products[last_[match.list].seed] += match.value * last_[match.list].value;
    }
}

void SeedColumns::set_products(size_t seed, float* products) const {
    const std::span<const SharedMatch> own = shared(seed);
    kernels_->add_rows(own.data(), static_cast<ptrdiff_t>(own.size()), table_.data(), static_cast<ptrdiff_t>(stride_),
                       products);
    products[seed] = 0;
}

void SeedColumns::clear() {
    for (int32_t column : columns_) map_[column] = 0;
    if (!cleared_centroid_)
        for (int32_t column : columns_) dense_centroid_[column] = 0;
    cleared_centroid_ = true;
    columns_.clear();
}

}  // namespace sthash::ranking
