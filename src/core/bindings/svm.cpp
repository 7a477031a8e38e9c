// Python's view of the SVM bank and of the projection onto its weights.
#include "bindings.hpp"
#include "svm/bank.hpp"
#include "views.hpp"

namespace sthash {

namespace {

nb::tuple fit(const CsrArrays& rows, Matrix<uint8_t> bits, Whole<size_t> n_features, Vector<float> inverse_curvature,
              float diagonal, float upper, float bias, double tolerance, Whole<int> max_rounds, uint64_t seed,
              Threads threads, nb::object report) {
    check(bits.shape(0) == rows.n_rows() && inverse_curvature.size() == rows.n_rows(),
          "Each row needs its bits and its curvature. Pass as many as there are rows.");
    check(rows.n_rows() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          "At most 2147483647 rows can be learned from. Take a sample.");
    const SvmProblem problem{rows.view(n_features),
                             n_features,
                             bits.shape(1),
                             bits.data(),
                             inverse_curvature.data(),
                             {diagonal, upper, bias},
                             tolerance,
                             std::min<int>(max_rounds, 1 << 30),
                             seed};
    SvmSolution solution;
    reporting(report,
              [&](StopFlag& stop, Progress& progress) { solution = solve_svm_bank(problem, threads, stop, progress); });
    return nb::make_tuple(to_numpy(std::move(solution.weights), {n_features, problem.n_bits}),
                          to_numpy(std::move(solution.intercepts)), to_numpy(std::move(solution.rounds)));
}

nb::ndarray<nb::numpy, float> project_rows_of(const CsrArrays& rows, Matrix<float> weights, Threads threads) {
    const CsrView view = rows.view(weights.shape(0));
    const size_t width = weights.shape(1);
    check(width % lanes_in_group == 0, "The width of the weights must be a multiple of lanes_in_group. Pad them.");
    std::vector<float> margins;
    interruptible_unless(view.n_rows <= 16, [&](StopFlag& stop) {
        margins = project(view, {weights.data(), static_cast<long>(width)}, threads, stop);
    });
    return to_numpy(std::move(margins), {view.n_rows, width});
}

}  // namespace

void bind_svm(nb::module_& module) {
    module.def("fit_svm_bank", &fit, nb::arg("rows"), nb::arg("bits"), nb::kw_only(), nb::arg("n_features"),
               nb::arg("inverse_curvature"), nb::arg("diagonal"), nb::arg("upper"), nb::arg("bias"),
               nb::arg("tolerance"), nb::arg("max_rounds"), nb::arg("seed"), nb::arg("threads"),
               nb::arg("report") = nb::none());
    module.def("project", &project_rows_of, nb::arg("rows"), nb::arg("weights"), nb::kw_only(), nb::arg("threads"));
    module.attr("lanes_in_group") = lanes_in_group;
}

}  // namespace sthash
