// Python's view of the search in cells.
#include "arguments.hpp"
#include "bindings.hpp"
#include "cells/search.hpp"

namespace sthash {

namespace {

// Keeps the arrays of an index, checked once, so that a query costs little.
class CellIndex {
 public:
    CellIndex(Matrix<float> centers, Matrix<float> signs, Vector<int64_t> starts, Vector<uint8_t> codes,
              Vector<uint8_t> factors, Vector<uint8_t> shifts, Vector<float> scales, Vector<int32_t> ids,
              Matrix<float> vectors)
        : centers_(centers),
          signs_(signs),
          starts_(starts),
          codes_(codes),
          factors_(factors),
          shifts_(shifts),
          scales_(scales),
          ids_(ids),
          vectors_(vectors) {
        const size_t n_cells = centers.shape(1), dimension = centers.shape(0), bytes = signs.shape(1) / 8;
        const size_t places = ids.size();
        check(signs.shape(0) == dimension && vectors.shape(1) == dimension && signs.shape(1) % 16 == 0,
              "Centers, sign vectors and vectors must have one dimension. Make them from the same vectors.");
        check(bytes <= 128, "Codes in cells have at most 1024 bits. Use fewer.");
        check(places % cells::kBlock == 0 && factors.size() == places && shifts.size() == places &&
                  codes.size() == places * bytes && scales.size() == 4,
              "Each place needs its code, its factor and its shift. Build the index again.");
        check(starts.size() == n_cells + 1, "Each cell needs its first block. Build the index again.");
        const int64_t blocks = static_cast<int64_t>(places / cells::kBlock);
        for (size_t cell = 0; cell <= n_cells; ++cell) {
            const int64_t start = starts.data()[cell], before = cell == 0 ? 0 : starts.data()[cell - 1];
            check(start >= before && start <= blocks,
                  "The blocks of the cells are not in order. Build the index again.");
        }
        for (size_t place = 0; place < places; ++place)
            check(ids.data()[place] >= -1 && ids.data()[place] < static_cast<int64_t>(vectors.shape(0)),
                  "An id has no vector. Build the index again.");
        index_ = {n_cells,       dimension,     bytes,         vectors.shape(0), centers.data(),
                  signs.data(),  starts.data(), codes.data(),  factors.data(),   shifts.data(),
                  scales.data(), ids.data(),    vectors.data()};
    }

    nb::tuple search(Matrix<float> queries, Whole<size_t> k, Whole<size_t> probes, Whole<size_t> candidates,
                     Threads threads) const {
        const size_t count = queries.shape(0);
        check_answers(count, k);
        check(queries.shape(1) == index_.dimension,
              "Queries must have the dimension of the index. Use the same model.");
        check(candidates >= k && candidates <= size_t{1} << 30, "There must be at least k candidates. Ask for more.");
        std::vector<int64_t> ids(count * k);
        std::vector<float> scores(count * k);
        const cells::Request request{count, k, std::max<size_t>(probes, 1), candidates, queries.data()};
        interruptible_unless(count <= 64, [&](StopFlag& stop) {
            cells::search(index_, request, ids.data(), scores.data(), threads, stop);
        });
        return nb::make_tuple(to_numpy(std::move(ids), {count, k}), to_numpy(std::move(scores), {count, k}));
    }

 private:
    Matrix<float> centers_, signs_;
    Vector<int64_t> starts_;
    Vector<uint8_t> codes_, factors_, shifts_;
    Vector<float> scales_;
    Vector<int32_t> ids_;
    Matrix<float> vectors_;
    cells::Index index_;
};

}  // namespace

void bind_cells(nb::module_& module) {
    nb::class_<CellIndex>(module, "CellIndex")
        .def(nb::init<Matrix<float>, Matrix<float>, Vector<int64_t>, Vector<uint8_t>, Vector<uint8_t>, Vector<uint8_t>,
                      Vector<float>, Vector<int32_t>, Matrix<float>>(),
             nb::kw_only(), nb::arg("centers"), nb::arg("signs"), nb::arg("starts"), nb::arg("codes"),
             nb::arg("factors"), nb::arg("shifts"), nb::arg("scales"), nb::arg("ids"), nb::arg("vectors"))
        .def("search", &CellIndex::search, nb::arg("queries"), nb::kw_only(), nb::arg("k"), nb::arg("probes"),
             nb::arg("candidates"), nb::arg("threads"));
}

}  // namespace sthash
