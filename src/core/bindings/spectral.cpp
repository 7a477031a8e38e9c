// Python's view of the products of the eigensolver.
#include "bindings.hpp"
#include "spectral/kernels.hpp"
#include "vectors.hpp"
#include "views.hpp"

namespace sthash {

namespace {

using Block = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void filter(const RowArrays& matrix, Matrix<float> now, Block next, float scale, float shift, float past,
            Threads threads) {
    const RowsView view = matrix.view(now.shape(0));
    const size_t width = now.shape(1);
    check(!view.dense, "The matrix must be sparse. Pass its CSR parts.");
    check(view.n_rows == now.shape(0) && next.shape(0) == view.n_rows && next.shape(1) == width,
          "Both blocks need a row per row of the matrix, which is square. Pass blocks of the same shape.");
    check(width % kLanesInGroup == 0, "The width of a block must be a multiple of lanes_in_group. Pad it.");
    const float *begin = next.data(), *const end = begin + next.size();
    check(end <= now.data() || now.data() + now.size() <= begin, "The blocks must not overlap. Pass two arrays.");
    const spectral::FilterStep step{view, now.data(), next.data(), static_cast<ptrdiff_t>(width), scale, shift, past};
    interruptible([&](StopFlag& stop) {
        parallel_for(view.n_rows, 256, threads, stop, [&](size_t first, size_t last, int) {
            spectral::filter_rows(step, static_cast<ptrdiff_t>(first), static_cast<ptrdiff_t>(last));
        });
    });
}

}  // namespace

void bind_spectral(nb::module_& module) {
    module.def("filter_step", &filter, nb::arg("matrix"), nb::arg("now"), nb::arg("following"), nb::kw_only(),
               nb::arg("scale"), nb::arg("shift"), nb::arg("past"), nb::arg("threads"));
}

}  // namespace sthash
