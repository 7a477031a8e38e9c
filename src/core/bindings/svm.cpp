// Python's view of the SVM bank and of the projection onto its weights.
#include "bindings.hpp"
#include "svm/svm_bank.hpp"

namespace sthash {

namespace {

nb::tuple fit(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<float> values, bool dense, size_t n_features,
              Matrix<uint8_t> bits, Vector<float> inverse_curvature, float diagonal, float upper, float bias,
              double tolerance, int max_rounds, uint64_t seed, int threads) {
    const SvmProblem problem{{indptr.data(), indices.data(), values.data(), dense, inverse_curvature.data()},
                             bits.shape(0),
                             n_features,
                             bits.shape(1),
                             bits.data(),
                             {diagonal, upper, bias},
                             tolerance,
                             max_rounds,
                             seed};
    SvmSolution solution;
    interruptible([&](StopFlag& stop) { solution = solve_svm_bank(problem, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(solution.weights), {n_features, problem.n_bits}),
                          to_numpy(std::move(solution.intercepts)), to_numpy(std::move(solution.rounds)));
}

// Rows times weights; the weights have a whole number of groups of lanes a row.
nb::object project(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<float> values, bool dense,
                   Matrix<float> weights, int threads) {
    const size_t n = indptr.size() - 1, width = weights.shape(1);
    std::vector<float> margins(n * width);
    const SvmRows rows{indptr.data(), indices.data(), values.data(), dense, nullptr};
    interruptible([&](StopFlag& stop) {
        parallel_for(n, 64, threads, stop, [&](size_t begin, size_t end, int) {
            project_rows(rows, static_cast<long>(begin), static_cast<long>(end), weights.data(),
                         static_cast<long>(width), margins.data());
        });
    });
    return nb::cast(to_numpy(std::move(margins), {n, width}));
}

}  // namespace

void bind_svm(nb::module_& module) {
    module.def("fit_svm_bank", &fit, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("dense"),
               nb::arg("n_features"), nb::arg("bits"), nb::arg("inverse_curvature"), nb::arg("diagonal"),
               nb::arg("upper"), nb::arg("bias"), nb::arg("tolerance"), nb::arg("max_rounds"), nb::arg("seed"),
               nb::arg("threads"));
    module.def("project", &project, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("dense"),
               nb::arg("weights"), nb::arg("threads"));
    module.attr("lanes_in_group") = lanes_in_group;
}

}  // namespace sthash
