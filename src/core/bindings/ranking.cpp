// Python's view of Hamming balls, of ranking by cosines, and of re-ranking.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "ranking/ranking.hpp"
#include "ranking/reranking.hpp"
#include "ranking/votes.hpp"
#include "views.hpp"

namespace sthash {

namespace {

using namespace ranking;
using Margins = std::optional<Matrix<float>>;
using Radius = std::optional<Whole<int>>;

std::optional<int> bits_of(const Radius& radius) {
    return radius ? std::optional<int>(std::max(radius->value, 0)) : std::nullopt;
}

// Refuses queries that do not fit to the codes of the documents.
BallQueries ball_queries(const CodesView& documents, const Matrix<uint64_t>& codes, const Margins& margins,
                         size_t wanted) {
    check(documents.words > 0 && codes.shape(1) == documents.words,
          "Queries must have codes as long as those of the documents. Encode both with the same model.");
    check(documents.count <= kMostRows, "At most 2147483647 documents can be searched at once. Split the collection.");
    check(!margins || (margins->shape(0) == codes.shape(0) && margins->shape(1) <= 64 * documents.words),
          "Each query needs one margin per bit. Pass the margins that belong to the codes.");
    check(wanted > 0, "At least one document must be wanted. Ask for more.");
    return {view_of(codes), margins ? margins->data() : nullptr, margins ? margins->shape(1) : 0};
}

nb::tuple search(Matrix<uint64_t> codes, const RowArrays& vectors, Matrix<uint64_t> query_codes,
                 const RowArrays& query_rows, Margins margins, Whole<size_t> k, Radius radius, Whole<size_t> wanted,
                 Threads threads) {
    const CodesView documents = view_of(codes);
    const BallQueries queries = ball_queries(documents, query_codes, margins, wanted);
    const RowsView unit = vectors.view();
    const RowsView rows = query_rows.view(unit.n_columns);
    check(unit.n_rows == documents.count, "Each document needs a code and a vector. Pass equally many of both.");
    check(rows.n_rows == queries.codes.count, "Each query needs a code and a row. Pass equally many of both.");
    check_answers(rows.n_rows, k);
    RankedBalls found(0, k);
    interruptible([&](StopFlag& stop) {
        found = search_balls(documents, unit, queries, rows, {bits_of(radius), wanted}, k, threads, stop);
    });
    const size_t count = query_codes.shape(0);
    return nb::make_tuple(to_numpy(std::move(found.places), {count, k}), to_numpy(std::move(found.scores), {count, k}),
                          to_numpy(std::move(found.distances), {count, k}), to_numpy(std::move(found.radii)),
                          to_numpy(std::move(found.candidates)));
}

// Places in the ball around one query, ascending.
nb::ndarray<nb::numpy, int64_t> gather(Matrix<uint64_t> codes, Matrix<uint64_t> query_code, Margins margins,
                                       Radius radius, Whole<size_t> wanted) {
    const CodesView documents = view_of(codes);
    const BallQueries query = ball_queries(documents, query_code, margins, wanted);
    check(query.codes.count == 1, "A ball is gathered around one query. Pass one code.");
    std::vector<int64_t> places;
    interruptible([&](StopFlag& stop) {
        Ball ball = std::move(gather_balls(documents, query, 0, 1, {bits_of(radius), wanted}, stop).front());
        for (const Ball::Member& member : ball.finish()) places.push_back(member.place);
        std::sort(places.begin(), places.end());
    });
    return to_numpy(std::move(places));
}

nb::ndarray<nb::numpy, float> scores(const RowArrays& vectors, Vector<int64_t> left, Vector<int64_t> right,
                                     Threads threads) {
    const RowsView view = vectors.view();
    check(left.size() == right.size(), "A pair has two sides. Pass equally many places of both.");
    for (const Vector<int64_t>* side : {&left, &right})
        for (size_t i = 0; i < side->size(); ++i)
            check(static_cast<uint64_t>(side->data()[i]) < view.n_rows,
                  "A pair names a vector that is not there. Use places from 0 on.");
    std::vector<float> result;
    interruptible(
        [&](StopFlag& stop) { result = pair_scores(view, {left.data(), right.data(), left.size()}, threads, stop); });
    return to_numpy(std::move(result));
}

// A place for each of `n_rows` rows, or -1.
void check_places(const Matrix<int64_t>& places, size_t n_rows) {
    for (size_t at = 0; at < places.shape(0) * places.shape(1); ++at)
        check(places.data()[at] >= -1 && places.data()[at] < static_cast<int64_t>(n_rows),
              "A place must be -1 or that of a vector. Use places from 0 on.");
}

nb::ndarray<nb::numpy, float> among(const RowArrays& vectors, Matrix<int64_t> places, Threads threads) {
    const RowsView view = vectors.view();
    const size_t count = places.shape(0), width = places.shape(1);
    check_places(places, view.n_rows);
    check_answers(count * width, width);
    std::vector<float> result;
    interruptible(
        [&](StopFlag& stop) { result = products_among(view, {places.data(), count, width}, threads, stop); });
    return to_numpy(std::move(result), {count, width, width});
}

nb::ndarray<nb::numpy, double> weights_of_votes(Cube<float> products, Matrix<double> likeness, int power, double ridge,
                                                Threads threads) {
    const size_t count = likeness.shape(0), width = likeness.shape(1);
    check(products.shape(0) == count && products.shape(1) == width && products.shape(2) == width,
          "Each voter needs a product with each of its group. Pass groups of the same size.");
    check(power >= 1 && ridge > 0, "The power must be at least 1, and the ridge positive.");
    std::vector<double> result;
    interruptible([&](StopFlag& stop) {
        result = vote_weights({products.data(), likeness.data(), count, width}, power, ridge, threads, stop);
    });
    return to_numpy(std::move(result), {count, width});
}

nb::tuple rerank_hits(const RowArrays& vectors, Matrix<int64_t> places, Matrix<float> scores, size_t k, size_t seeds,
                      size_t neighbors, double smoothing, size_t feedback_documents, double feedback, int threads) {
    const RowsView view = vectors.view();
    const size_t count = places.shape(0), width = places.shape(1);
    check(!view.dense, "The vectors must be sparse. Pass those of texts.");
    check(scores.shape(0) == count && scores.shape(1) == width, "Each place needs a score. Pass equally many of both.");
    check_places(places, view.n_rows);
    const Reranking how{seeds, neighbors, feedback_documents, smoothing, feedback};
    k = std::min(k, width);
    RerankedHits answer;
    interruptible_unless(count <= 16, [&](StopFlag& stop) {
        answer = rerank(view, {places.data(), scores.data(), count, width}, how, k, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(answer.places), {count, k}),
                          to_numpy(std::move(answer.scores), {count, k}));
}

}  // namespace

void bind_ranking(nb::module_& module) {
    module.def("search_balls", &search, nb::arg("codes"), nb::arg("vectors"), nb::arg("query_codes"),
               nb::arg("query_rows"), nb::kw_only(), nb::arg("margins").none(), nb::arg("k"), nb::arg("radius").none(),
               nb::arg("wanted"), nb::arg("threads"));
    module.def("gather_ball", &gather, nb::arg("codes"), nb::arg("query_code"), nb::kw_only(),
               nb::arg("margins").none(), nb::arg("radius").none(), nb::arg("wanted"));
    module.def("pair_scores", &scores, nb::arg("vectors"), nb::arg("left"), nb::arg("right"), nb::kw_only(),
               nb::arg("threads"));
    module.def("products_among", &among, nb::arg("vectors"), nb::arg("places"), nb::kw_only(), nb::arg("threads"));
    module.def("vote_weights", &weights_of_votes, nb::arg("products"), nb::arg("likeness"), nb::kw_only(),
               nb::arg("power"), nb::arg("ridge"), nb::arg("threads"));
    module.def("rerank_hits", &rerank_hits, nb::arg("vectors"), nb::arg("places"), nb::arg("scores"), nb::kw_only(),
               nb::arg("k"), nb::arg("seeds"), nb::arg("neighbors"), nb::arg("smoothing"),
               nb::arg("feedback_documents"), nb::arg("feedback"), nb::arg("threads"));
}

}  // namespace sthash
