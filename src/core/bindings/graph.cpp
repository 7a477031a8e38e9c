// Python's view of the nearest-neighbour searches.
#include "bindings.hpp"
#include "graph/dense_knn.hpp"
#include "graph/sparse_knn.hpp"

namespace sthash {

namespace {

nb::tuple to_tuple(NeighbourLists&& lists, size_t n) {
    const size_t k = lists.k;
    return nb::make_tuple(to_numpy(std::move(lists.rows), {n, k}), to_numpy(std::move(lists.scores), {n, k}));
}

nb::tuple sparse_neighbours(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<float> data, size_t columns,
                            Vector<float> penalty, size_t k, double common_share, int threads) {
    const size_t n = indptr.size() - 1;
    NeighbourLists lists(0, k);
    interruptible([&](StopFlag& stop) {
        const SparseNeighbours finder({indptr.data(), indices.data(), data.data(), n, columns}, penalty.data(),
                                      common_share);
        lists = finder.search(k, threads, stop);
    });
    return to_tuple(std::move(lists), n);
}

// `products` is scratch space: it is overwritten.
nb::tuple dense_neighbours(Matrix<float> rows, nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> products,
                           size_t first, Vector<float> penalty, Vector<float> norms, float largest_norm, size_t k,
                           int threads) {
    const size_t count = products.shape(0);
    NeighbourLists lists(0, k);
    interruptible([&](StopFlag& stop) {
        lists = best_of_block({rows.data(), products.data(), penalty.data(), norms.data(), largest_norm, rows.shape(0),
                               rows.shape(1), first, count},
                              k, threads, stop);
    });
    return to_tuple(std::move(lists), count);
}

nb::tuple largest_in_rows(Matrix<float> scores, size_t k, int threads) {
    NeighbourLists lists(0, k);
    interruptible([&](StopFlag& stop) {
        lists = best_columns(scores.data(), scores.shape(0), scores.shape(1), k, threads, stop);
    });
    return to_tuple(std::move(lists), scores.shape(0));
}

}  // namespace

void bind_graph(nb::module_& module) {
    module.def("sparse_neighbours", &sparse_neighbours, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"),
               nb::arg("columns"), nb::arg("penalty"), nb::arg("k"), nb::arg("common_share"), nb::arg("threads"));
    module.def("dense_neighbours", &dense_neighbours, nb::arg("rows"), nb::arg("products"), nb::arg("first"),
               nb::arg("penalty"), nb::arg("norms"), nb::arg("largest_norm"), nb::arg("k"), nb::arg("threads"));
    module.def("largest_in_rows", &largest_in_rows, nb::arg("scores"), nb::arg("k"), nb::arg("threads"));
}

}  // namespace sthash
