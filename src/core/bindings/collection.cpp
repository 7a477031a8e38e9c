// Python's view of ball search with re-ranking, and of random hyperplanes.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "collection/rerank.hpp"
#include "collection/scatter.hpp"

namespace sthash {

namespace {

nb::tuple search(Matrix<uint64_t> codes, Vector<int64_t> starts, Vector<int64_t> ends, Vector<int32_t> content,
                 bool dense, Matrix<uint64_t> query_codes, std::optional<Matrix<float>> margins,
                 Vector<int64_t> query_indptr, Vector<int32_t> query_indices, Vector<float> query_values,
                 size_t columns, size_t k, int radius, size_t wanted, int threads) {
    const Shelf shelf{codes.data(), codes.shape(1), codes.shape(0), starts.data(), ends.data(), content.data(), dense};
    const Questions questions{query_codes.data(),
                              margins ? margins->data() : nullptr,
                              margins ? margins->shape(1) : 0,
                              query_codes.shape(0),
                              query_indptr.data(),
                              query_indices.data(),
                              query_values.data(),
                              columns};
    Answers answers(questions.count, k);
    interruptible([&](StopFlag& stop) { search_balls(shelf, questions, {radius, wanted}, threads, stop, answers); });
    const size_t count = questions.count;
    return nb::make_tuple(to_numpy(std::move(answers.places), {count, k}),
                          to_numpy(std::move(answers.scores), {count, k}),
                          to_numpy(std::move(answers.distances), {count, k}), to_numpy(std::move(answers.radii)),
                          to_numpy(std::move(answers.candidates)));
}

// Places in the ball around one query, ascending.
nb::object gather(Matrix<uint64_t> codes, Matrix<uint64_t> query, std::optional<Matrix<float>> margins, int radius,
                  size_t wanted) {
    const Shelf shelf{codes.data(), codes.shape(1), codes.shape(0), nullptr, nullptr, nullptr, false};
    const Questions questions{query.data(),
                              margins ? margins->data() : nullptr,
                              margins ? margins->shape(1) : 0,
                              1,
                              nullptr,
                              nullptr,
                              nullptr,
                              0};
    std::vector<int64_t> places;
    interruptible([&](StopFlag& stop) {
        Gathering ball = std::move(gather_any(shelf, questions, 0, 1, {radius, wanted}, stop).front());
        for (const Gathering::Member& member : ball.finish()) places.push_back(member.place);
        std::sort(places.begin(), places.end());
    });
    return nb::cast(to_numpy(std::move(places)));
}

nb::object scores(Vector<int64_t> starts, Vector<int64_t> ends, Vector<int32_t> content, bool dense, size_t columns,
                  Vector<int64_t> left, Vector<int64_t> right, int threads) {
    const Shelf shelf{nullptr, 0, starts.size(), starts.data(), ends.data(), content.data(), dense};
    std::vector<float> result(left.size());
    interruptible([&](StopFlag& stop) {
        parallel_for(result.size(), 4096, threads, stop, [&](size_t begin, size_t end, int) {
            for (size_t pair = begin; pair < end; ++pair)
                result[pair] = pair_score(shelf, static_cast<size_t>(left.data()[pair]),
                                          static_cast<size_t>(right.data()[pair]), columns);
        });
    });
    return nb::cast(to_numpy(std::move(result)));
}

nb::object scatter(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<float> values, size_t words, uint64_t seed,
                   int threads) {
    const size_t rows = indptr.size() - 1;
    std::vector<float> sums;
    interruptible([&](StopFlag& stop) {
        sums = scatter_rows(indptr.data(), indices.data(), values.data(), rows, words, seed, threads, stop);
    });
    return nb::cast(to_numpy(std::move(sums), {rows, 64 * words}));
}

}  // namespace

void bind_collection(nb::module_& module) {
    module.def("search_balls", &search, nb::arg("codes"), nb::arg("starts"), nb::arg("ends"), nb::arg("content"),
               nb::arg("dense"), nb::arg("query_codes"), nb::arg("margins").none(), nb::arg("query_indptr"),
               nb::arg("query_indices"), nb::arg("query_values"), nb::arg("columns"), nb::arg("k"), nb::arg("radius"),
               nb::arg("wanted"), nb::arg("threads"));
    module.def("gather_ball", &gather, nb::arg("codes"), nb::arg("query"), nb::arg("margins").none(), nb::arg("radius"),
               nb::arg("wanted"));
    module.def("pair_scores", &scores, nb::arg("starts"), nb::arg("ends"), nb::arg("content"), nb::arg("dense"),
               nb::arg("columns"), nb::arg("left"), nb::arg("right"), nb::arg("threads"));
    module.def("scatter", &scatter, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("words"),
               nb::arg("seed"), nb::arg("threads"));
}

}  // namespace sthash
