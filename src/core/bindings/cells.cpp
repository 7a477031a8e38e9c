// VectorIndex as seen from Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <variant>

#include "arguments.hpp"
#include "bindings.hpp"
#include "cells/index.hpp"
#include "cells/search.hpp"

namespace sthash {

namespace {

using cells::Coder;
using cells::Precision;
using Vectors = std::variant<Matrix<float>, Matrix<uint16_t>, Matrix<int8_t>>;

constexpr size_t kMostCells = size_t{1} << 22;

// Coders keep the arrays that they point to, checked once, so that nothing leads a kernel astray.
struct KeptCoder {
    Matrix<int8_t> centers;
    Matrix<float> lengths, signs;
    Vector<float> scales, steps;
    Coder coder;
};

KeptCoder checked(Matrix<int8_t> centers, Matrix<float> lengths, Matrix<float> signs, Vector<float> scales,
                  Vector<float> steps, Whole<int> precision) {
    check(precision >= 0 && precision <= 2, "The precision must be 0 (float32), 1 (float16) or 2 (int8). Use these.");
    const size_t n_cells = centers.shape(0), dimension = centers.shape(1), bytes = signs.shape(1) / 8;
    check(n_cells >= 1 && n_cells <= kMostCells, "An index has 1 to 4,194,304 cells. Use another number.");
    check(dimension >= 1 && dimension <= 1 << 15, "Vectors have 1 to 32,768 values. Use fewer dimensions.");
    check(signs.shape(0) == dimension && signs.shape(1) % 16 == 0 && bytes >= 2 && bytes <= 128,
          "Codes must have an even number of bytes from 2 to 128. Learn them again.");
    check(lengths.shape(0) == n_cells && lengths.shape(1) == 3 && scales.size() == 4,
          "Each cell needs three lengths, and all together four scales. Learn them again.");
    const auto kind = static_cast<Precision>(precision.value);
    check(steps.size() == (kind == Precision::int8 ? dimension : 0),
          "Vectors of bytes need a step per dimension. Learn them again.");
    const Coder coder{n_cells,      dimension,     bytes, centers.data(), lengths.data(),
                      signs.data(), scales.data(), kind,  steps.data()};
    return {centers, lengths, signs, scales, steps, coder};
}

// Keeps an array of Python for as long as a snapshot points to it. Snapshots are let go without the GIL.
std::shared_ptr<const void> kept(const Vectors& vectors) {
    return std::shared_ptr<const void>(new Vectors(vectors), [](const void* held) {
        if (!Py_IsInitialized()) return;
        const nb::gil_scoped_acquire acquired;
        delete static_cast<const Vectors*>(held);
    });
}

struct Shape {
    size_t count, width;
    const std::byte* data;
};

Shape shape_of(const Vectors& vectors) {
    return std::visit(
        [](const auto& rows) {
            return Shape{rows.shape(0), rows.shape(1), reinterpret_cast<const std::byte*>(rows.data())};
        },
        vectors);
}

// Vectors of some slots, in the type that they are kept in.
nb::object gathered(const cells::Snapshot& snapshot, const uint32_t* slots, size_t count) {
    const Coder& coder = snapshot.coder;
    const auto copy = [&](auto value) {
        std::vector<decltype(value)> rows(count * coder.dimension);
        const size_t size = coder.vector_bytes();
        for (size_t i = 0; i < count; ++i)
            std::memcpy(rows.data() + i * coder.dimension, snapshot.vector_of(slots[i], size), size);
        return nb::cast(to_numpy(std::move(rows), {count, coder.dimension}));
    };
    if (coder.precision == Precision::float32) return copy(float{});
    if (coder.precision == Precision::float16) return copy(uint16_t{});
    return copy(int8_t{});
}

// A snapshot as arrays, in the order of the ids: what a file holds.
struct CellTable {
    explicit CellTable(std::shared_ptr<const cells::Snapshot> now)
        : snapshot(std::move(now)), table(cells::table_of(*snapshot)) {}

    std::shared_ptr<const cells::Snapshot> snapshot;
    cells::Table table;
};

class CellIndex;

// Ids that searches may find, and the rows of the last snapshot that they were looked up in.
class CellSelection {
 public:
    struct Chosen {
        std::shared_ptr<const cells::Snapshot> now;
        cells::Selection selection;
    };

    explicit CellSelection(std::vector<int64_t> ids) : ids_(std::move(ids)) {}

    std::shared_ptr<const Chosen> chosen(const CellIndex& index);

    // Number of cells that have such rows.
    size_t cells(const CellIndex& index);

 private:
    const std::vector<int64_t> ids_;
    std::mutex mutex_;
    std::shared_ptr<const Chosen> chosen_;
};

class CellIndex {
 public:
    CellIndex(Matrix<int8_t> centers, Matrix<float> lengths, Matrix<float> signs, Vector<float> scales,
              Vector<float> steps, Whole<int> precision)
        : kept_(checked(centers, lengths, signs, scales, steps, precision)), index_(kept_.coder) {}

    nb::ndarray<nb::numpy, int64_t> add(Vector<int32_t> cells, Matrix<uint8_t> packed, Vectors vectors,
                                        std::optional<Vector<int64_t>> ids, bool borrow) {
        const Coder& coder = index_.coder();
        const Shape rows = shape_of(vectors);
        check(static_cast<size_t>(coder.precision) == vectors.index() && rows.width == coder.dimension,
              "Vectors must have the type and the dimension of the index. Encode them with its coder.");
        check(cells.size() == rows.count && packed.shape(0) == rows.count && packed.shape(1) == coder.row_bytes() &&
                  (!ids || ids->size() == rows.count),
              "Each vector needs a cell, a code and an id. Pass equally many.");
        const size_t n_cells = index_.snapshot()->coder.n_cells;  // never less later on
        for (size_t i = 0; i < rows.count; ++i) {
            const int32_t cell = cells.data()[i];
            check(cell >= 0 && static_cast<size_t>(cell) < n_cells,
                  "A row is in a cell that does not exist. Encode it with the coder of the index.");
            check(!ids || ids->data()[i] >= 0, "Ids must not be negative. Use ids from 0 on.");
        }
        cells::NewRows added{rows.count,
                             cells.data(),
                             packed.data(),
                             rows.data,
                             ids ? ids->data() : nullptr,
                             borrow ? kept(vectors) : nullptr};
        std::vector<int64_t> given(rows.count);
        {
            const nb::gil_scoped_release released;
            const int64_t first = index_.add(added);
            for (size_t i = 0; i < rows.count; ++i)
                given[i] = ids ? ids->data()[i] : static_cast<int64_t>(static_cast<uint64_t>(first) + i);
            added.owner = nullptr;
        }
        return to_numpy(std::move(given));
    }

    void remove(Vector<int64_t> ids) {
        const nb::gil_scoped_release released;
        index_.remove({ids.data(), ids.size()});
    }

    void regroup(Matrix<int8_t> centers, Matrix<float> lengths, Vector<int64_t> ids, Vector<int32_t> cells,
                 Matrix<uint8_t> packed) {
        const size_t n_cells = centers.shape(0), before = index_.snapshot()->coder.n_cells;
        check(n_cells >= before && n_cells <= kMostCells && centers.shape(1) == index_.coder().dimension &&
                  lengths.shape(0) == n_cells && lengths.shape(1) == 3,
              "Centers must be at least as many as before, each with three lengths. Add some.");
        check(cells.size() == ids.size() && packed.shape(0) == ids.size() &&
                  packed.shape(1) == index_.coder().row_bytes(),
              "Each row needs a cell and a code. Pass equally many.");
        for (size_t i = 0; i < cells.size(); ++i)
            check(cells.data()[i] >= 0 && static_cast<size_t>(cells.data()[i]) < n_cells,
                  "A row is in a cell that does not exist. Encode it with the coder of the index.");
        const nb::gil_scoped_release released;
        auto taken = std::make_shared<cells::Centers>();
        taken->bytes.assign(centers.data(), centers.data() + centers.size());
        taken->lengths.assign(lengths.data(), lengths.data() + lengths.size());
        index_.regroup({ids.data(), ids.size()}, {std::move(taken), cells.size(), cells.data(), packed.data()});
    }

    // Live rows per cell.
    nb::ndarray<nb::numpy, int32_t> cell_sizes() const { return to_numpy(std::vector(index_.snapshot()->sizes)); }

    // The ids of the rows in some cells.
    nb::ndarray<nb::numpy, int64_t> ids_in(Vector<int32_t> cells) const {
        std::vector<int64_t> ids;
        {
            const nb::gil_scoped_release released;
            const auto now = index_.snapshot();
            for (size_t i = 0; i < cells.size(); ++i) {
                const auto cell = static_cast<size_t>(cells.data()[i]);
                if (cell >= now->cells.size()) continue;
                for (const cells::Extent& extent : *now->cells[cell])
                    for (uint32_t row = 0; row < extent.size; ++row)
                        if (!extent.is_dead(row)) ids.push_back(now->id_of(extent.slots[row]));
            }
        }
        return to_numpy(std::move(ids));
    }

    // The cells of rows with these ids.
    nb::ndarray<nb::numpy, int32_t> cells_of(Vector<int64_t> ids) const {
        const auto [now, found] = located(ids);
        std::vector<int32_t> cells;
        for (size_t i = 0; i < found.size(); ++i) {
            if (found[i] < 0) throw UnknownId(ids.data()[i]);
            const auto slot = static_cast<uint32_t>(found[i]);
            cells.push_back(now->page_of(slot).cells[slot & (cells::kPageRows - 1)]);
        }
        return to_numpy(std::move(cells));
    }

    void raise_max_id(int64_t id) {
        const nb::gil_scoped_release released;
        index_.raise_max_id(id);
    }

    std::shared_ptr<const cells::Snapshot> snapshot() const { return index_.snapshot(); }

    std::shared_ptr<const CellSelection::Chosen> choose(const IdsView& ids) const {
        const auto [now, found] = index_.locate(ids);
        std::vector<uint32_t> slots;
        slots.reserve(found.size());
        for (const int64_t slot : found)
            if (slot >= 0) slots.push_back(static_cast<uint32_t>(slot));
        if (!std::is_sorted(slots.begin(), slots.end())) std::sort(slots.begin(), slots.end());
        slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
        return std::make_shared<const CellSelection::Chosen>(now, cells::Selection(*now, std::move(slots)));
    }

    int64_t max_id() const { return index_.snapshot()->max_id; }
    size_t size() const { return index_.snapshot()->size; }

    bool contains(int64_t id) const {
        const nb::gil_scoped_release released;
        return index_.locate({&id, 1}).second[0] >= 0;
    }

    nb::ndarray<nb::numpy, int64_t> ids() const {
        std::vector<int64_t> ids;
        {
            const nb::gil_scoped_release released;
            const auto now = index_.snapshot();
            for (const uint32_t slot : now->slots_by_id()) ids.push_back(now->id_of(slot));
        }
        return to_numpy(std::move(ids));
    }

    nb::object vectors(Vector<int64_t> ids) const {
        const auto [now, found] = located(ids);
        std::vector<uint32_t> slots;
        for (size_t i = 0; i < found.size(); ++i) {
            if (found[i] < 0) throw UnknownId(ids.data()[i]);
            slots.push_back(static_cast<uint32_t>(found[i]));
        }
        return gathered(*now, slots.data(), slots.size());
    }

    nb::dict stats() const {
        const auto now = index_.snapshot();
        cells::Index::Usage usage;
        {
            const nb::gil_scoped_release released;
            usage = index_.usage();
        }
        nb::dict result;
        result["size"] = now->size;
        result["dead"] = now->dead;
        result["code_bytes"] = usage.codes;
        result["vector_bytes"] = usage.vectors;
        return result;
    }

    CellTable table() const {
        const nb::gil_scoped_release released;
        return CellTable(index_.snapshot());
    }

    nb::tuple search(Matrix<float> queries, Whole<size_t> k, Whole<size_t> probes, float margin,
                     Whole<size_t> candidates, Whole<int> plan, bool estimated,
                     std::variant<std::monostate, CellSelection*, Vector<int64_t>> allowed, Threads threads) const {
        const Coder& coder = index_.coder();
        const size_t count = queries.shape(0);
        check_answers(count, k);
        check(queries.shape(1) == coder.dimension, "Queries must have the dimension of the index. Use the same model.");
        check(candidates >= k, "There must be at least k candidates. Ask for more.");
        check(candidates <= size_t{1} << 30, "There are at most 1,073,741,824 candidates. Ask for fewer.");
        check(margin >= 0.0f, "A margin cannot be negative. Use 0 or more.");
        std::vector<int64_t> ids(count * k);
        std::vector<float> scores(count * k);
        check(plan >= 0 && plan <= 2, "The plan must be 0 (cheapest), 1 (exact) or 2 (cells). Use these.");
        using Plan = cells::Request::Plan;
        const cells::Request request{
            count,    k, std::max<size_t>(probes, 1), candidates, margin, queries.data(), static_cast<Plan>(plan.value),
            estimated};
        std::shared_ptr<const CellSelection::Chosen> chosen;
        if (auto* const prepared = std::get_if<CellSelection*>(&allowed)) {
            check(*prepared != nullptr, "A selection is needed. Make one with select.");
            chosen = (*prepared)->chosen(*this);
        } else if (auto* const ids_of = std::get_if<Vector<int64_t>>(&allowed)) {
            const nb::gil_scoped_release released;
            chosen = choose({ids_of->data(), ids_of->size()});
        }
        const cells::Index::Reading now = chosen != nullptr ? chosen->now : index_.snapshot();
        const cells::Search search(*now, request, chosen != nullptr ? &chosen->selection : nullptr);
        interruptible_unless(search.cost() <= kBrief,
                             [&](StopFlag& stop) { search.run(ids.data(), scores.data(), threads, stop); });
        return nb::make_tuple(to_numpy(std::move(ids), {count, k}), to_numpy(std::move(scores), {count, k}));
    }

 private:
    static constexpr double kBrief = 1e7;  // values that are multiplied in a few milliseconds

    std::pair<cells::Index::Reading, std::vector<int64_t>> located(const Vector<int64_t>& ids) const {
        const nb::gil_scoped_release released;
        return index_.locate({ids.data(), ids.size()});
    }

    KeptCoder kept_;
    cells::Index index_;
};

std::shared_ptr<const CellSelection::Chosen> CellSelection::chosen(const CellIndex& index) {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    if (chosen_ == nullptr || chosen_->now != index.snapshot()) chosen_ = index.choose({ids_.data(), ids_.size()});
    return chosen_;
}

size_t CellSelection::cells(const CellIndex& index) {
    const auto now = chosen(index);
    const auto& sizes = now->selection.sizes;
    return static_cast<size_t>(std::count_if(sizes.begin(), sizes.end(), [](int32_t size) { return size > 0; }));
}

}  // namespace

void bind_cells(nb::module_& module) {
    nb::class_<CellTable>(module, "CellTable")
        .def("ids", [](CellTable& self) { return to_numpy(std::vector(self.table.ids)); })
        .def("cells", [](CellTable& self) { return to_numpy(std::vector(self.table.cells)); })
        .def("packed",
             [](CellTable& self) {
                 return to_numpy(std::vector(self.table.packed),
                                 {self.table.ids.size(), self.snapshot->coder.row_bytes()});
             })
        .def(
            "vectors",
            [](CellTable& self, Whole<size_t> first, Whole<size_t> last) {
                const size_t end = std::min<size_t>(last, self.table.slots.size());
                const size_t begin = std::min<size_t>(first, end);
                return gathered(*self.snapshot, self.table.slots.data() + begin, end - begin);
            },
            nb::arg("first"), nb::arg("last"))
        .def("max_id", [](CellTable& self) { return self.snapshot->max_id; });
    nb::class_<CellSelection>(module, "CellSelection")
        .def(
            "__init__",
            [](CellSelection* self, Vector<int64_t> ids) {
                new (self) CellSelection(std::vector(ids.data(), ids.data() + ids.size()));
            },
            nb::arg("ids"))
        .def("cells", &CellSelection::cells, nb::arg("index"));
    nb::class_<CellIndex>(module, "CellIndex")
        .def(nb::init<Matrix<int8_t>, Matrix<float>, Matrix<float>, Vector<float>, Vector<float>, Whole<int>>(),
             nb::kw_only(), nb::arg("centers"), nb::arg("lengths"), nb::arg("signs"), nb::arg("scales"),
             nb::arg("steps"), nb::arg("precision"))
        .def("add", &CellIndex::add, nb::kw_only(), nb::arg("cells"), nb::arg("packed"), nb::arg("vectors"),
             nb::arg("ids").none(), nb::arg("borrow"))
        .def("remove", &CellIndex::remove, nb::arg("ids"))
        .def("regroup", &CellIndex::regroup, nb::kw_only(), nb::arg("centers"), nb::arg("lengths"), nb::arg("ids"),
             nb::arg("cells"), nb::arg("packed"))
        .def("cell_sizes", &CellIndex::cell_sizes)
        .def("ids_in", &CellIndex::ids_in, nb::arg("cells"))
        .def("cells_of", &CellIndex::cells_of, nb::arg("ids"))
        .def("raise_max_id", &CellIndex::raise_max_id, nb::arg("id"))
        .def("max_id", &CellIndex::max_id)
        .def("size", &CellIndex::size)
        .def("contains", &CellIndex::contains, nb::arg("id"))
        .def("ids", &CellIndex::ids)
        .def("vectors", &CellIndex::vectors, nb::arg("ids"))
        .def("stats", &CellIndex::stats)
        .def("table", &CellIndex::table, nb::keep_alive<0, 1>())
        .def("search", &CellIndex::search, nb::arg("queries"), nb::kw_only(), nb::arg("k"), nb::arg("probes"),
             nb::arg("margin"), nb::arg("candidates"), nb::arg("plan"), nb::arg("estimated"), nb::arg("allowed").none(),
             nb::arg("threads"));
}

}  // namespace sthash
