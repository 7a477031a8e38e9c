// Groups of NumPy arrays that kernels take together: objects of Python that keep the arrays alive.
#pragma once

#include "bindings.hpp"
#include "collection/ranking.hpp"
#include "csr.hpp"

namespace sthash {

// CsrView of Python.
struct CsrArrays {
    Vector<int64_t> indptr;
    Vector<int32_t> indices;
    Vector<float> values;
    bool dense;

    CsrView view() const { return {indptr.data(), indices.data(), values.data(), indptr.size() - 1, dense}; }
};

// PackedView of Python.
struct PackedArrays {
    Vector<int32_t> content;
    Vector<int64_t> starts, ends;
    size_t n_columns;
    bool dense;

    PackedView view() const { return {content.data(), starts.data(), ends.data(), starts.size(), n_columns, dense}; }
};

inline CodesView view_of(const Matrix<uint64_t>& codes) {
    return {codes.data(), codes.shape(1), codes.shape(0)};
}

}  // namespace sthash
