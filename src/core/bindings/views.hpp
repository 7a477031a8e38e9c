// Groups of NumPy arrays that kernels take together: objects of Python that keep the arrays alive. They are checked
// once, when they are made, or by the kernel as it goes where that is cheaper.
#pragma once

#include "arguments.hpp"
#include "bindings.hpp"
#include "collection/ranking.hpp"
#include "csr.hpp"

namespace sthash {

// Refuses bounds that do not ascend from 0 to at most `size`.
inline void check_bounds(const Vector<int64_t>& bounds, size_t size) {
    const int64_t *at = bounds.data(), *const end = at + bounds.size();
    check(bounds.size() > 0 && at[0] == 0 && std::is_sorted(at, end) && static_cast<uint64_t>(end[-1]) <= size,
          "Row bounds must ascend from 0 to at most the number of values. Pass the indptr of a valid CSR matrix.");
}

// CsrView of Python.
class CsrArrays {
 public:
    CsrArrays(Vector<int64_t> bounds, Vector<int32_t> columns, Vector<float> numbers, bool is_dense)
        : indptr(std::move(bounds)), indices(std::move(columns)), values(std::move(numbers)), dense(is_dense) {
        check_bounds(indptr, dense ? values.size() : std::min(values.size(), indices.size()));
        size_t used = static_cast<size_t>(indptr.data()[indptr.size() - 1]);
        if (dense) {
            used = 0;
            for (size_t i = 1; i < indptr.size(); ++i)
                used = std::max(used, static_cast<size_t>(indptr.data()[i] - indptr.data()[i - 1]));
            check(used <= indices.size(), "A dense row is wider than the list of columns. List every column once.");
        }
        // A negative column becomes a huge one.
        uint32_t largest = 0;
        for (size_t at = 0; at < used; ++at) largest = std::max(largest, static_cast<uint32_t>(indices.data()[at]));
        check(largest <= static_cast<uint32_t>(std::numeric_limits<int32_t>::max()),
              "Columns must not be negative. Pass the indices of a valid CSR matrix.");
        width_ = used > 0 ? size_t{largest} + 1 : 0;
    }

    // The view, whose columns are all below `n_columns`.
    CsrView view(size_t n_columns) const {
        check(width_ <= n_columns, "A row has a column beyond the last one. Make the rows for this number of columns.");
        return view();
    }

    // The same where any column will do.
    CsrView view() const { return {indptr.data(), indices.data(), values.data(), n_rows(), dense}; }

    size_t n_rows() const { return indptr.size() - 1; }
    bool is_dense() const { return dense; }

 private:
    Vector<int64_t> indptr;
    Vector<int32_t> indices;
    Vector<float> values;
    bool dense;
    size_t width_;
};

// PackedView of Python. There may be millions of vectors, of which a search scores a few: kernels check what they
// score.
class PackedArrays {
 public:
    PackedArrays(Vector<int32_t> words, Vector<int64_t> from, Vector<int64_t> to, size_t columns, bool is_dense)
        : content(std::move(words)), starts(std::move(from)), ends(std::move(to)), n_columns(columns), dense(is_dense) {
        check(starts.size() == ends.size(), "Each vector needs a start and an end. Pass equally many of both.");
        check(n_columns <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
              "Vectors may have at most 2147483647 columns. Leave some out.");
    }

    PackedView view() const {
        return {content.data(), content.size(), starts.data(), ends.data(), starts.size(), n_columns, dense};
    }

 private:
    Vector<int32_t> content;
    Vector<int64_t> starts, ends;
    size_t n_columns;
    bool dense;
};

inline CodesView view_of(const Matrix<uint64_t>& codes) {
    return {codes.data(), codes.shape(1), codes.shape(0)};
}

}  // namespace sthash
