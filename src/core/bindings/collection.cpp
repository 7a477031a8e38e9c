// Python's view of Hamming balls, of ranking by cosines, and of random hyperplanes.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "collection/ranking.hpp"
#include "collection/scatter.hpp"
#include "views.hpp"

namespace sthash {

namespace {

using Margins = std::optional<Matrix<float>>;

BallQueries ball_queries(const Matrix<uint64_t>& codes, const Margins& margins) {
    return {view_of(codes), margins ? margins->data() : nullptr, margins ? margins->shape(1) : 0};
}

nb::tuple search(Matrix<uint64_t> codes, const PackedArrays& vectors, Matrix<uint64_t> query_codes,
                 const CsrArrays& query_rows, Margins margins, size_t k, std::optional<int> radius, size_t wanted,
                 int threads) {
    RankedBalls found(0, k);
    interruptible([&](StopFlag& stop) {
        found = search_balls(view_of(codes), vectors.view(), ball_queries(query_codes, margins), query_rows.view(),
                             {radius, wanted}, k, threads, stop);
    });
    const size_t count = query_codes.shape(0);
    return nb::make_tuple(to_numpy(std::move(found.places), {count, k}), to_numpy(std::move(found.scores), {count, k}),
                          to_numpy(std::move(found.distances), {count, k}), to_numpy(std::move(found.radii)),
                          to_numpy(std::move(found.candidates)));
}

// Places in the ball around one query, ascending.
nb::ndarray<nb::numpy, int64_t> gather(Matrix<uint64_t> codes, Matrix<uint64_t> query_code, Margins margins,
                                       std::optional<int> radius, size_t wanted) {
    std::vector<int64_t> places;
    interruptible([&](StopFlag& stop) {
        const BallQueries query = ball_queries(query_code, margins);
        Ball ball = std::move(gather_balls(view_of(codes), query, 0, 1, {radius, wanted}, stop).front());
        for (const Ball::Member& member : ball.finish()) places.push_back(member.place);
        std::sort(places.begin(), places.end());
    });
    return to_numpy(std::move(places));
}

nb::ndarray<nb::numpy, float> scores(const PackedArrays& vectors, Vector<int64_t> left, Vector<int64_t> right,
                                     int threads) {
    std::vector<float> result;
    interruptible([&](StopFlag& stop) {
        result = pair_scores(vectors.view(), {left.data(), right.data(), left.size()}, threads, stop);
    });
    return to_numpy(std::move(result));
}

nb::ndarray<nb::numpy, float> scatter(const CsrArrays& rows, size_t words, uint64_t seed, int threads) {
    std::vector<float> sums;
    interruptible([&](StopFlag& stop) { sums = scatter_rows(rows.view(), words, seed, threads, stop); });
    return to_numpy(std::move(sums), {rows.view().n_rows, 64 * words});
}

}  // namespace

void bind_collection(nb::module_& module) {
    module.def("search_balls", &search, nb::arg("codes"), nb::arg("vectors"), nb::arg("query_codes"),
               nb::arg("query_rows"), nb::kw_only(), nb::arg("margins").none(), nb::arg("k"), nb::arg("radius").none(),
               nb::arg("wanted"), nb::arg("threads"));
    module.def("gather_ball", &gather, nb::arg("codes"), nb::arg("query_code"), nb::kw_only(),
               nb::arg("margins").none(), nb::arg("radius").none(), nb::arg("wanted"));
    module.def("pair_scores", &scores, nb::arg("vectors"), nb::arg("left"), nb::arg("right"), nb::kw_only(),
               nb::arg("threads"));
    module.def("scatter", &scatter, nb::arg("rows"), nb::kw_only(), nb::arg("words"), nb::arg("seed"),
               nb::arg("threads"));
}

}  // namespace sthash
