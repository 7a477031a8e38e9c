// Python's view of the search in cells.
#include "arguments.hpp"
#include "bindings.hpp"
#include "cells/search.hpp"

#include <nanobind/stl/variant.h>

#include <tuple>
#include <variant>

namespace sthash {

namespace {

// Keeps the arrays of an index, checked once, so that a query costs little.
class CellIndex {
 public:
    CellIndex(Matrix<int8_t> centers, Matrix<float> signs, Matrix<float> lengths, Vector<int64_t> starts,
              Vector<int32_t> sizes, Vector<uint8_t> blocks, Vector<float> scales, Vector<int32_t> ids,
              Vector<float> steps, std::variant<Matrix<float>, Matrix<uint16_t>, Matrix<int8_t>> vectors)
        : centers_(centers),
          signs_(signs),
          lengths_(lengths),
          starts_(starts),
          sizes_(sizes),
          blocks_(blocks),
          scales_(scales),
          ids_(ids),
          steps_(steps),
          vectors_(vectors) {
        const size_t n_cells = centers.shape(0), dimension = centers.shape(1), bytes = signs.shape(1) / 8;
        const size_t places = ids.size();
        const auto [n_rows, width, content] = std::visit(
            [](const auto& rows) {
                return std::tuple(rows.shape(0), rows.shape(1), static_cast<const void*>(rows.data()));
            },
            vectors_);
        check(signs.shape(0) == dimension && width == dimension && signs.shape(1) % 16 == 0,
              "Centers, sign vectors and vectors must have one dimension. Make them from the same vectors.");
        check(dimension <= 1 << 15, "Vectors have at most 32,768 values. Use fewer dimensions.");
        check(bytes <= 128, "Codes in cells have at most 1024 bits. Use fewer.");
        check(places % cells::kBlock == 0 && places <= size_t{1} << 30 && blocks.size() == places * (bytes + 2) &&
                  scales.size() == 4,
              "Each place needs its code, its factor and its shift. Build the index again.");
        check(starts.size() == n_cells + 1 && sizes.size() == n_cells && lengths.shape(0) == n_cells &&
                  lengths.shape(1) == 3,
              "Each cell needs its first block. Build the index again.");
        check(steps.size() == (vectors_.index() == 2 ? dimension : 0),
              "Vectors of bytes need a step per dimension. Build the index again.");
        const int64_t n_blocks = static_cast<int64_t>(places / cells::kBlock);
        for (size_t cell = 0; cell <= n_cells; ++cell) {
            const int64_t start = starts.data()[cell], before = cell == 0 ? 0 : starts.data()[cell - 1];
            check(start >= before && start <= n_blocks,
                  "The blocks of the cells are not in order. Build the index again.");
        }
        for (size_t cell = 0; cell < n_cells; ++cell) {
            const size_t first = static_cast<size_t>(starts.data()[cell]) * cells::kBlock;
            const size_t room = static_cast<size_t>(starts.data()[cell + 1]) * cells::kBlock - first;
            const int32_t size = sizes.data()[cell];
            check(size >= 0 && static_cast<size_t>(size) <= room,
                  "A cell has more rows than places. Build the index again.");
            for (size_t at = first; at < first + static_cast<size_t>(size); ++at)
                check(ids.data()[at] >= 0 && static_cast<size_t>(ids.data()[at]) < n_rows,
                      "An id has no vector. Build the index again.");
        }
        index_ = {n_cells,        dimension,
                  bytes,          n_rows,
                  centers.data(), lengths.data(),
                  signs.data(),   starts.data(),
                  sizes.data(),   blocks.data(),
                  scales.data(),  ids.data(),
                  content,        static_cast<cells::Precision>(vectors_.index()),
                  steps.data()};
    }

    nb::tuple search(Matrix<float> queries, Whole<size_t> k, Whole<size_t> probes, float margin,
                     Whole<size_t> candidates, Threads threads) const {
        const size_t count = queries.shape(0);
        check_answers(count, k);
        check(queries.shape(1) == index_.dimension,
              "Queries must have the dimension of the index. Use the same model.");
        check(candidates >= k, "There must be at least k candidates. Ask for more.");
        check(candidates <= size_t{1} << 30, "There are at most 1,073,741,824 candidates. Ask for fewer.");
        check(margin >= 0.0f, "A margin cannot be negative. Use 0 or more.");
        std::vector<int64_t> ids(count * k);
        std::vector<float> scores(count * k);
        const cells::Request request{count, k, std::max<size_t>(probes, 1), candidates, margin, queries.data()};
        interruptible_unless(count <= 64, [&](StopFlag& stop) {
            cells::search(index_, request, ids.data(), scores.data(), threads, stop);
        });
        return nb::make_tuple(to_numpy(std::move(ids), {count, k}), to_numpy(std::move(scores), {count, k}));
    }

 private:
    Matrix<int8_t> centers_;
    Matrix<float> signs_, lengths_;
    Vector<int64_t> starts_;
    Vector<int32_t> sizes_;
    Vector<uint8_t> blocks_;
    Vector<float> scales_;
    Vector<int32_t> ids_;
    Vector<float> steps_;
    std::variant<Matrix<float>, Matrix<uint16_t>, Matrix<int8_t>> vectors_;
    cells::Index index_;
};

}  // namespace

void bind_cells(nb::module_& module) {
    nb::class_<CellIndex>(module, "CellIndex")
        .def(nb::init<Matrix<int8_t>, Matrix<float>, Matrix<float>, Vector<int64_t>, Vector<int32_t>, Vector<uint8_t>,
                      Vector<float>, Vector<int32_t>, Vector<float>,
                      std::variant<Matrix<float>, Matrix<uint16_t>, Matrix<int8_t>>>(),
             nb::kw_only(), nb::arg("centers"), nb::arg("signs"), nb::arg("lengths"), nb::arg("starts"),
             nb::arg("sizes"), nb::arg("blocks"), nb::arg("scales"), nb::arg("ids"), nb::arg("steps"),
             nb::arg("vectors"))
        .def("search", &CellIndex::search, nb::arg("queries"), nb::kw_only(), nb::arg("k"), nb::arg("probes"),
             nb::arg("margin"), nb::arg("candidates"), nb::arg("threads"));
}

}  // namespace sthash
