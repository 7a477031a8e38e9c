// Python's view of the re-ranking of hits.
#include <cmath>
#include <stdexcept>

#include "bindings.hpp"
#include "collection/reranking.hpp"
#include "views.hpp"

namespace sthash {

namespace {

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

nb::tuple rerank_hits(const PackedArrays& vectors, Matrix<int64_t> places, Matrix<float> scores, size_t k, size_t seeds,
                      size_t neighbors, double smoothing, size_t feedback_documents, double feedback, int threads) {
    const PackedView view = vectors.view();
    const size_t count = places.shape(0), width = places.shape(1);
    require(!view.dense, "The vectors must be sparse.");
    require(scores.shape(0) == count && scores.shape(1) == width, "There must be as many scores as places.");
    for (size_t at = 0; at < count * width; ++at)
        require(places.data()[at] >= -1 && places.data()[at] < static_cast<int64_t>(view.n_rows),
                "A place must be -1 or that of a vector.");
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

void bind_reranking(nb::module_& module) {
    module.def("rerank_hits", &rerank_hits, nb::arg("vectors"), nb::arg("places"), nb::arg("scores"), nb::kw_only(),
               nb::arg("k"), nb::arg("seeds"), nb::arg("neighbors"), nb::arg("smoothing"),
               nb::arg("feedback_documents"), nb::arg("feedback"), nb::arg("threads"));
}

}  // namespace sthash
