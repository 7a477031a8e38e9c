// Groups of NumPy arrays that kernels take together: objects of Python that keep the arrays alive. They are checked
// once, when they are made.
#pragma once

#include <nanobind/stl/optional.h>

#include <numeric>
#include <string>

#include "arguments.hpp"
#include "bindings.hpp"
#include "ranking/ball.hpp"
#include "rows.hpp"

namespace sthash {

// Refuses bounds that do not ascend from 0 to at most `size`.
inline void check_bounds(const Vector<int64_t>& bounds, size_t size) {
    const int64_t *at = bounds.data(), *const end = at + bounds.size();
    check(bounds.size() > 0 && at[0] == 0 && std::is_sorted(at, end) && static_cast<uint64_t>(end[-1]) <= size,
          "Row bounds must ascend from 0 to at most the number of values. Pass the indptr of a valid CSR matrix.");
}

// RowsView of Python. Arrays may come from a file that was forged, so nothing in them is taken for granted: see check.
class RowArrays {
 public:
    // Rows without `columns` are dense. `checked` says that
    // these rows are some of those of another view, which was checked: there may be millions, of which a search scores
    // a few.
    RowArrays(Vector<int64_t> starts, Vector<int64_t> ends, std::optional<Vector<int32_t>> columns,
              Vector<float> values, size_t n_columns, bool checked)
        : starts_(std::move(starts)),
          ends_(std::move(ends)),
          columns_(std::move(columns)),
          values_(std::move(values)),
          n_columns_(n_columns) {
        check(starts_.size() == ends_.size(), "Each row needs a start and an end. Pass equally many of both.");
        check(n_columns_ <= kMostRows, "Rows may have at most 2147483647 columns. Leave some out.");
        if (!checked) check_rows();
        if (!columns_) {
            shared_columns_.resize(n_columns_);
            std::iota(shared_columns_.begin(), shared_columns_.end(), 0);
        }
    }

    // The view, whose columns are all below `n_columns`.
    RowsView view(size_t n_columns) const {
        check(n_columns_ <= n_columns, "Rows have more columns than they may have. Make them for fewer columns.");
        return view();
    }

    // The same where any column will do.
    RowsView view() const {
        return {starts_.data(), ends_.data(), columns_ ? columns_->data() : shared_columns_.data(),
                values_.data(), n_rows(),     n_columns_,
                is_dense()};
    }

    size_t n_rows() const { return starts_.size(); }
    size_t n_columns() const { return n_columns_; }
    bool is_dense() const { return !columns_; }

 private:
    void check_rows() const {
        const size_t size = columns_ ? std::min(columns_->size(), values_.size()) : values_.size();
        for (size_t row = 0; row < n_rows(); ++row) {
            const int64_t start = starts_.data()[row], end = ends_.data()[row];
            bool fits = start >= 0 && end >= start && static_cast<uint64_t>(end) <= size;
            if (fits && columns_) {
                uint32_t largest = 0;  // a negative column becomes a huge one
                for (int64_t at = start; at < end; ++at)
                    largest = std::max(largest, static_cast<uint32_t>(columns_->data()[at]));
                fits = start == end || largest < n_columns_;
            } else if (fits) {
                fits = static_cast<size_t>(end - start) == n_columns_;
            }
            if (!fits)
                throw std::invalid_argument("Row " + std::to_string(row) +
                                            " leads out of bounds. Make the rows again from their entries.");
        }
    }

    Vector<int64_t> starts_, ends_;
    std::optional<Vector<int32_t>> columns_;
    Vector<float> values_;
    size_t n_columns_;
    std::vector<int32_t> shared_columns_;  // of dense rows
};

inline ranking::CodesView view_of(const Matrix<uint64_t>& codes) {
    return {codes.data(), codes.shape(1), codes.shape(0)};
}

}  // namespace sthash
