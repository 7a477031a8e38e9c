// Inner products of rows. Those of single precision are added up in sixteen lanes and then in a fixed order, which is
// the same on every SIMD path. Those of double precision go in the order of the row, so no order of work can change a
// score or a tie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows.hpp"

namespace sthash {

float dot(const float* left, const float* right, size_t count);
float dot(const float* left, const uint16_t* halves, size_t count);  // IEEE's, finite
float dot(const float* left, const int8_t* bytes, size_t count);
float dot(const SparseRow& row, const float* dense);
float dot(const SparseRow& left, const SparseRow& right);  // columns ascend in both

double exact_dot(const float* left, const float* right, size_t count);
double exact_dot(const SparseRow& row, const float* dense);

// products[i] = exact_dot(left, rows[i], count) for `n_rows` rows, in less time.
void exact_dots(const float* left, const float* const* rows, size_t n_rows, size_t count, double* products);

// A sparse row spread over all columns, so that dot can look its values up.
class Spread {
 public:
    // All columns are 0. Rows that are set must be cleared first.
    void resize(size_t n_columns) { values_.resize(n_columns, 0.0f); }
    void set(const SparseRow& row) {
        for (ptrdiff_t at = 0; at < row.size; ++at) values_[row.indices[at]] = row.values[at];
    }
    void clear(const SparseRow& row) {
        for (ptrdiff_t at = 0; at < row.size; ++at) values_[row.indices[at]] = 0.0f;
    }
    const float* data() const { return values_.data(); }

 private:
    std::vector<float> values_;
};

// Calls take(i, j) for each left[i] == right[j], in their order. Both lists ascend.
template <class Item, class Take>
void for_each_shared(const Item* left, size_t n_left, const Item* right, size_t n_right, Take&& take) {
    for (size_t i = 0, j = 0; i < n_left && j < n_right;) {
        const Item a = left[i], b = right[j];
        if (a == b) take(i, j);
        i += a <= b;
        j += b <= a;
    }
}

}  // namespace sthash
