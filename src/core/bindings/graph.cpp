// Python's view of the searches for nearest neighbors.
#include "bindings.hpp"
#include "graph/approximate.hpp"
#include "graph/block_kernels.hpp"
#include "graph/dense_neighbors.hpp"
#include "graph/sparse_neighbors.hpp"
#include "views.hpp"

namespace sthash {

namespace {

using namespace graph;

void check_penalty(const Vector<float>& penalty, size_t n_rows) {
    check(n_rows <= kMostRows, "A graph may have at most 2147483647 rows. Take a sample.");
    check(penalty.size() == n_rows, "Each row needs one penalty. Pass as many as there are rows.");
}

nb::tuple to_python(NeighborLists&& lists, size_t n) {
    return nb::make_tuple(to_numpy(std::move(lists.rows), {n, lists.k}),
                          to_numpy(std::move(lists.scores), {n, lists.k}));
}

// Runs find(stop), which gives n lists, and hands rows and scores over.
template <class Find>
nb::tuple find_neighbors(size_t n, size_t k, Find&& find) {
    check_answers(n, k);
    NeighborLists lists(0, k);
    interruptible([&](StopFlag& stop) { lists = find(stop); });
    return to_python(std::move(lists), n);
}

nb::tuple of_sparse(const RowArrays& rows, Vector<float> penalty, Whole<size_t> k, double common_share,
                    Threads threads) {
    check(!rows.is_dense(), "The rows must be sparse. Pass dense rows to dense_neighbors.");
    check_penalty(penalty, rows.n_rows());
    const SparseGraphProblem problem{rows.view(), rows.n_columns(), penalty.data(), common_share};
    return find_neighbors(problem.rows.n_rows, k,
                          [&](StopFlag& stop) { return sparse_neighbors(problem, k, threads, stop); });
}

// `products` is overwritten.
nb::tuple of_dense(Matrix<float> rows, nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> products,
                   Whole<size_t> first, Vector<float> penalty, Vector<float> norms, float largest_norm, Whole<size_t> k,
                   Threads threads) {
    const size_t n = rows.shape(0);
    check_penalty(penalty, n);
    check(norms.size() == n && products.shape(1) == n && first <= n && products.shape(0) <= n - first,
          "Products and norms must fit to the rows. Pass the products of a block of rows with all rows.");
    const DenseBlock block{rows.data(),   products.data(), penalty.data(), norms.data(),     largest_norm,
                           rows.shape(0), rows.shape(1),   first,          products.shape(0)};
    return find_neighbors(block.count, k, [&](StopFlag& stop) { return dense_neighbors(block, k, threads, stop); });
}

nb::tuple approximately(const RowArrays& rows, Whole<size_t> k, uint64_t seed, Threads threads, nb::object report) {
    const RowsView view = rows.view();
    check(!view.dense || view.n_columns <= kMostWidth, "Dense rows may have at most 32768 columns. Pass sparse rows.");
    check(view.n_rows <= kMostRows, "A graph may have at most 2147483647 rows. Take a sample.");
    const ApproximateOptions options{k, seed};
    check_answers(view.n_rows, k);
    NeighborLists lists(0, k);
    reporting(report, [&](StopFlag& stop, Progress& progress) {
        lists = approximate_neighbors(view, view.n_columns, options, threads, stop, progress);
    });
    return to_python(std::move(lists), view.n_rows);
}

nb::tuple of_scores(Matrix<float> scores, Whole<size_t> k, Threads threads) {
    check(scores.shape(1) <= kMostRows, "Rows may have at most 2147483647 columns. Leave some out.");
    const ScoreMatrix matrix{scores.data(), scores.shape(0), scores.shape(1)};
    return find_neighbors(matrix.count, k, [&](StopFlag& stop) { return largest_in_rows(matrix, k, threads, stop); });
}

}  // namespace

void bind_graph(nb::module_& module) {
    module.def("sparse_neighbors", &of_sparse, nb::arg("rows"), nb::kw_only(), nb::arg("penalty"), nb::arg("k"),
               nb::arg("common_share"), nb::arg("threads"));
    module.def("dense_neighbors", &of_dense, nb::arg("rows"), nb::arg("products"), nb::kw_only(), nb::arg("first"),
               nb::arg("penalty"), nb::arg("norms"), nb::arg("largest_norm"), nb::arg("k"), nb::arg("threads"));
    module.def("approximate_neighbors", &approximately, nb::arg("rows"), nb::kw_only(), nb::arg("k"), nb::arg("seed"),
               nb::arg("threads"), nb::arg("report") = nb::none());
    module.def("largest_in_rows", &of_scores, nb::arg("scores"), nb::kw_only(), nb::arg("k"), nb::arg("threads"));
}

}  // namespace sthash
