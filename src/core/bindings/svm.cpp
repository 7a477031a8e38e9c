// Python's view of the SVM bank.
#include "bindings.hpp"
#include "svm/bank.hpp"
#include "views.hpp"

namespace sthash {

namespace {

using namespace svm;

nb::tuple fit(const RowArrays& rows, Matrix<uint8_t> bits, Vector<float> inverse_curvature, Vector<float> diagonal,
              Vector<float> upper, float bias, double tolerance, Whole<int> max_rounds, uint64_t seed, Threads threads,
              nb::object report) {
    const size_t n = rows.n_rows();
    check(bits.shape(0) == n && inverse_curvature.size() == n && diagonal.size() == n && upper.size() == n,
          "Each row needs its bits, its curvature, its diagonal and its bound. Pass as many as there are rows.");
    check(rows.n_rows() <= kMostRows, "At most 2147483647 rows can be learned from. Take a sample.");
    const Problem problem{rows.view(),
                          rows.n_columns(),
                          bits.shape(1),
                          bits.data(),
                          {inverse_curvature.data(), diagonal.data(), upper.data(), bias},
                          tolerance,
                          std::min<int>(max_rounds, 1 << 30),
                          seed};
    Solution solution;
    reporting(report,
              [&](StopFlag& stop, Progress& progress) { solution = solve_bank(problem, threads, stop, progress); });
    return nb::make_tuple(to_numpy(std::move(solution.weights), {problem.n_features, problem.n_bits}),
                          to_numpy(std::move(solution.intercepts)), to_numpy(std::move(solution.rounds)));
}

}  // namespace

void bind_svm(nb::module_& module) {
    module.def("fit_svm_bank", &fit, nb::arg("rows"), nb::arg("bits"), nb::kw_only(), nb::arg("inverse_curvature"),
               nb::arg("diagonal"), nb::arg("upper"), nb::arg("bias"), nb::arg("tolerance"), nb::arg("max_rounds"),
               nb::arg("seed"), nb::arg("threads"), nb::arg("report") = nb::none());
}

}  // namespace sthash
