// Python's view of packed counts and of postings.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "collection/counts.hpp"
#include "collection/postings.hpp"

namespace sthash {

namespace {

// A thread of its own, to listen to Ctrl-C meanwhile, would take longer than this many values do.
constexpr size_t kFew = 1 << 16;

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

CountsView counts_of(const Vector<int64_t>& indptr, const Vector<int32_t>& columns, const Vector<int32_t>& counts) {
    require(indptr.size() > 0, "indptr must have one entry more than there are rows.");
    require(columns.size() == counts.size(), "There must be as many counts as columns.");
    return {indptr.data(), columns.data(), counts.data(), indptr.size() - 1, columns.size()};
}

nb::tuple pack_rows(Vector<int64_t> indptr, Vector<int32_t> columns, Vector<int32_t> counts, int threads) {
    const CountsView rows = counts_of(indptr, columns, counts);
    PackedPieces packed;
    interruptible_unless(columns.size() < kFew, [&](StopFlag& stop) { packed = pack_counts(rows, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(packed.content)), to_numpy(std::move(packed.offsets)));
}

nb::tuple unpack_rows(Vector<uint8_t> content, Vector<int64_t> offsets, int64_t n_columns, int threads) {
    require(offsets.size() > 0, "offsets must have one entry more than there are rows.");
    const PackedPiecesView packed{content.data(), content.size(), offsets.data(), offsets.size() - 1};
    UnpackedCounts rows;
    interruptible_unless(content.size() < kFew,
                         [&](StopFlag& stop) { rows = unpack_counts(packed, n_columns, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.columns)),
                          to_numpy(std::move(rows.counts)));
}

nb::tuple pack_lists(Vector<int64_t> indptr, Vector<int32_t> columns, Vector<int32_t> counts, Vector<int64_t> ids,
                     int64_t n_columns, int threads) {
    const CountsView rows = counts_of(indptr, columns, counts);
    require(ids.size() == rows.n_rows, "There must be as many ids as rows.");
    PackedPostings packed;
    interruptible([&](StopFlag& stop) { packed = pack_postings(rows, ids.data(), n_columns, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(packed.columns)), to_numpy(std::move(packed.lists.content)),
                          to_numpy(std::move(packed.lists.offsets)));
}

void put(PostingLists& lists, int32_t column, const nb::list& contents) {
    std::vector<nb::bytes> held;  // for as long as nobody holds the GIL
    std::vector<std::span<const uint8_t>> parts;
    for (nb::handle content : contents) {
        if (!PyBytes_Check(content.ptr())) throw nb::type_error("Every part of a list must be bytes.");
        held.push_back(nb::borrow<nb::bytes>(content));
        parts.emplace_back(static_cast<const uint8_t*>(held.back().data()), held.back().size());
    }
    nb::gil_scoped_release released;
    lists.put(column, parts);
}

void put_rows(PostingLists& lists, Vector<int64_t> indptr, Vector<int32_t> columns, Vector<int32_t> counts,
              Vector<int64_t> ids) {
    const CountsView rows = counts_of(indptr, columns, counts);
    require(ids.size() == rows.n_rows, "There must be as many ids as rows.");
    nb::gil_scoped_release released;
    lists.put_counts(rows, ids.data());
}

nb::ndarray<nb::numpy, int32_t> positions(const PostingLists& lists, int32_t column) {
    std::vector<int32_t> found;
    {
        nb::gil_scoped_release released;
        found = lists.positions(column);
    }
    return to_numpy(std::move(found));
}

nb::tuple search(PostingLists& lists, Vector<int64_t> indptr, Vector<int32_t> columns, Vector<float> weights, size_t k,
                 double k1, double b, double mean_length, std::optional<Vector<uint8_t>> allowed, int threads) {
    require(indptr.size() > 0, "indptr must have one entry more than there are queries.");
    require(columns.size() == weights.size(), "There must be as many weights as columns.");
    require(!allowed || allowed->size() == lists.n_documents(), "allowed must have one byte per document.");
    const QueriesView queries{indptr.data(), columns.data(), weights.data(), indptr.size() - 1, columns.size()};
    const uint8_t* mask = allowed ? allowed->data() : nullptr;
    BestDocuments best;
    const auto work = [&](StopFlag& stop) {
        best = lists.search(queries, {k1, b, mean_length}, k, mask, threads, stop);
    };
    // A thread of its own, to listen to Ctrl-C meanwhile, would take longer than a few queries do.
    constexpr size_t few = 16;
    if (queries.count <= few) {
        nb::gil_scoped_release released;
        StopFlag stop{false};
        work(stop);
    } else {
        interruptible(work);
    }
    return nb::make_tuple(to_numpy(std::move(best.positions), {queries.count, k}),
                          to_numpy(std::move(best.scores), {queries.count, k}));
}

}  // namespace

void bind_postings(nb::module_& module) {
    module.def("pack_counts", &pack_rows, nb::arg("indptr"), nb::arg("columns"), nb::arg("counts"), nb::kw_only(),
               nb::arg("threads"));
    module.def("unpack_counts", &unpack_rows, nb::arg("content"), nb::arg("offsets"), nb::kw_only(),
               nb::arg("n_columns"), nb::arg("threads"));
    module.def("pack_postings", &pack_lists, nb::arg("indptr"), nb::arg("columns"), nb::arg("counts"), nb::arg("ids"),
               nb::kw_only(), nb::arg("n_columns"), nb::arg("threads"));
    nb::class_<PostingLists>(module, "PostingLists")
        .def(
            "__init__",
            [](PostingLists* self, Vector<int64_t> ids, Vector<int32_t> lengths) {
                new (self) PostingLists({ids.data(), ids.size()}, {lengths.data(), lengths.size()});
            },
            nb::arg("ids"), nb::arg("lengths"))
        .def("put", &put, nb::arg("column"), nb::arg("contents"))
        .def("put_counts", &put_rows, nb::arg("indptr"), nb::arg("columns"), nb::arg("counts"), nb::arg("ids"))
        .def("holds", &PostingLists::holds, nb::arg("column"), nb::call_guard<nb::gil_scoped_release>())
        .def("document_frequency", &PostingLists::document_frequency, nb::arg("column"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("positions", &positions, nb::arg("column"))
        .def_prop_ro("nbytes", &PostingLists::nbytes, nb::call_guard<nb::gil_scoped_release>())
        .def("search", &search, nb::arg("indptr"), nb::arg("columns"), nb::arg("weights"), nb::kw_only(), nb::arg("k"),
             nb::arg("k1"), nb::arg("b"), nb::arg("mean_length"), nb::arg("allowed").none(), nb::arg("threads"));
}

}  // namespace sthash
