// Python's view of the projections of rows.
#include "projection/projection.hpp"
#include "bindings.hpp"
#include "vectors.hpp"
#include "views.hpp"

namespace sthash {

namespace {

nb::ndarray<nb::numpy, float> project(const RowArrays& rows, Matrix<float> weights, Threads threads) {
    const RowsView view = rows.view(weights.shape(0));
    const size_t width = weights.shape(1);
    check(width % kLanesInGroup == 0, "The width of the weights must be a multiple of lanes_in_group. Pad them.");
    std::vector<float> margins;
    interruptible_unless(view.n_rows <= 16, [&](StopFlag& stop) {
        margins = projection::project(view, {weights.data(), static_cast<ptrdiff_t>(width)}, threads, stop);
    });
    return to_numpy(std::move(margins), {view.n_rows, width});
}

nb::ndarray<nb::numpy, float> scatter(const RowArrays& rows, Whole<size_t> words, uint64_t seed, Threads threads) {
    check_answers(rows.n_rows(), words);
    std::vector<float> sums;
    interruptible([&](StopFlag& stop) { sums = projection::scatter(rows.view(), words, seed, threads, stop); });
    return to_numpy(std::move(sums), {rows.n_rows(), 64 * words});
}

}  // namespace

void bind_projection(nb::module_& module) {
    module.def("project", &project, nb::arg("rows"), nb::arg("weights"), nb::kw_only(), nb::arg("threads"));
    module.def("scatter", &scatter, nb::arg("rows"), nb::kw_only(), nb::arg("words"), nb::arg("seed"),
               nb::arg("threads"));
    module.attr("lanes_in_group") = kLanesInGroup;
}

}  // namespace sthash
