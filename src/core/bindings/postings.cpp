// Python's view of packed counts and of postings.
#include <nanobind/stl/optional.h>

#include "arguments.hpp"
#include "bindings.hpp"
#include "views.hpp"
#include "words/counts.hpp"
#include "words/list_blocks.hpp"
#include "words/postings.hpp"

namespace sthash {

namespace {

using namespace words;

// A thread of its own, to listen to Ctrl-C meanwhile, would take longer than this many values do.
constexpr size_t kFew = 1 << 16;

CountsView counts_of(const Vector<int64_t>& indptr, const Vector<int32_t>& columns, const Vector<int32_t>& counts) {
    check(indptr.size() > 0, "indptr must have one entry more than there are rows.");
    check(columns.size() == counts.size(), "There must be as many counts as columns.");
    return {indptr.data(), columns.data(), counts.data(), indptr.size() - 1, columns.size()};
}

nb::tuple pack_rows(Vector<int64_t> indptr, Vector<int32_t> columns, Vector<int32_t> counts, int threads) {
    const CountsView rows = counts_of(indptr, columns, counts);
    PackedPieces packed;
    interruptible_unless(columns.size() < kFew, [&](StopFlag& stop) { packed = pack_counts(rows, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(packed.content)), to_numpy(std::move(packed.offsets)));
}

nb::tuple unpack_rows(Vector<uint8_t> content, Vector<int64_t> offsets, int64_t n_columns, int threads) {
    check(offsets.size() > 0, "offsets must have one entry more than there are rows.");
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
    check(ids.size() == rows.n_rows, "There must be as many ids as rows.");
    PackedPostings packed;
    interruptible([&](StopFlag& stop) { packed = pack_postings(rows, ids.data(), n_columns, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(packed.columns)), to_numpy(std::move(packed.lists.content)),
                          to_numpy(std::move(packed.lists.offsets)));
}

nb::tuple pack_list_blocks(Vector<int32_t> columns, Vector<uint8_t> content, Vector<int64_t> offsets,
                           Whole<size_t> most) {
    check(offsets.size() == columns.size() + 1, "offsets must have one entry more than there are columns.");
    check_bounds(offsets, content.size());
    for (size_t i = 0; i < columns.size(); ++i)
        check(columns.data()[i] > (i == 0 ? -1 : columns.data()[i - 1]), "Columns must ascend from 0 on.");
    PackedPostings packed;
    {
        nb::gil_scoped_release released;
        packed = pack_blocks({columns.data(), {content.data(), content.size(), offsets.data(), columns.size()}}, most);
    }
    return nb::make_tuple(to_numpy(std::move(packed.columns)), to_numpy(std::move(packed.lists.content)),
                          to_numpy(std::move(packed.lists.offsets)));
}

std::span<const uint8_t> span_of(const nb::bytes& content) {
    return {static_cast<const uint8_t*>(content.data()), content.size()};
}

std::optional<nb::bytes> find_list(const nb::bytes& block, Whole<int32_t> first, Whole<int32_t> column) {
    check(first >= 0, "A block begins at a column from 0 on.");
    const auto found = list_in_block(span_of(block), first, column);
    if (!found) return {};
    return nb::bytes(found->data(), found->size());
}

nb::tuple unpack_list_block(const nb::bytes& block, Whole<int32_t> first) {
    check(first >= 0, "A block begins at a column from 0 on.");
    PackedPostings lists = unpack_block(span_of(block), first);
    return nb::make_tuple(to_numpy(std::move(lists.columns)), to_numpy(std::move(lists.lists.content)),
                          to_numpy(std::move(lists.lists.offsets)));
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
    check(ids.size() == rows.n_rows, "There must be as many ids as rows.");
    nb::gil_scoped_release released;
    lists.put_counts(rows, ids.data());
}

void load_lists(PostingLists& lists, Vector<int32_t> columns, Vector<uint8_t> content, Vector<int64_t> offsets) {
    check(offsets.size() == columns.size() + 1, "offsets must have one entry more than there are columns.");
    nb::gil_scoped_release released;
    lists.load({columns.data(), {content.data(), content.size(), offsets.data(), columns.size()}});
}

void add_documents(PostingLists& lists, Vector<int64_t> indptr, Vector<int32_t> columns, Vector<int32_t> counts,
                   Vector<int64_t> ids, Vector<int32_t> lengths) {
    const CountsView rows = counts_of(indptr, columns, counts);
    check(ids.size() == rows.n_rows, "There must be as many ids as rows.");
    nb::gil_scoped_release released;
    lists.add(rows, {ids.data(), ids.size()}, {lengths.data(), lengths.size()});
}

void remove_documents(PostingLists& lists, Vector<int32_t> positions) {
    nb::gil_scoped_release released;
    lists.remove({positions.data(), positions.size()});
}

// Hands over what a call without the GIL returns.
template <class Call>
auto array_of(Call&& call) {
    return to_numpy([&] {
        nb::gil_scoped_release released;
        return call();
    }());
}

nb::ndarray<nb::numpy, int32_t> positions(PostingLists& lists, int32_t column) {
    return array_of([&] { return lists.positions(column); });
}

nb::ndarray<nb::numpy, int32_t> frequencies(PostingLists& lists, Vector<int32_t> columns) {
    return array_of([&] { return lists.document_frequencies({columns.data(), columns.size()}); });
}

int32_t frequency(PostingLists& lists, int32_t column) {
    nb::gil_scoped_release released;
    return lists.document_frequencies({&column, 1}).front();
}

nb::tuple pack_all(const PostingLists& lists) {
    PackedPostings packed;
    {
        nb::gil_scoped_release released;
        packed = lists.pack();
    }
    return nb::make_tuple(to_numpy(std::move(packed.columns)), to_numpy(std::move(packed.lists.content)),
                          to_numpy(std::move(packed.lists.offsets)));
}

nb::tuple search(PostingLists& lists, Vector<int64_t> indptr, Vector<int32_t> columns, Vector<float> weights, size_t k,
                 double k1, double b, double mean_length, std::optional<Vector<uint8_t>> allowed, int threads,
                 std::optional<Vector<uint32_t>> ranks, std::optional<Vector<int64_t>> optional) {
    check(indptr.size() > 0, "indptr must have one entry more than there are queries.");
    check(columns.size() == weights.size(), "There must be as many weights as columns.");
    check(!optional || optional->size() == indptr.size() - 1, "optional must have one number per query.");
    const QueriesView queries{indptr.data(),     columns.data(), weights.data(),
                              indptr.size() - 1, columns.size(), optional ? optional->data() : nullptr};
    Selection selection;
    if (allowed) selection.allowed.emplace(allowed->data(), allowed->size());
    if (ranks) selection.ranks.emplace(ranks->data(), ranks->size());
    BestDocuments best;
    const auto work = [&](StopFlag& stop) {
        best = lists.search(queries, {k1, b, mean_length}, k, selection, threads, stop);
    };
    // A thread of its own, to listen to Ctrl-C meanwhile, would take longer than a few queries do.
    constexpr size_t kFewQueries = 16;
    if (queries.count <= kFewQueries) {
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
    module.def("pack_list_blocks", &pack_list_blocks, nb::arg("columns"), nb::arg("content"), nb::arg("offsets"),
               nb::kw_only(), nb::arg("most"));
    module.def("list_in_block", &find_list, nb::arg("block"), nb::kw_only(), nb::arg("first"), nb::arg("column"));
    module.def("unpack_list_block", &unpack_list_block, nb::arg("block"), nb::kw_only(), nb::arg("first"));
    nb::class_<PostingLists>(module, "PostingLists")
        .def(
            "__init__",
            [](PostingLists* self, Vector<int64_t> ids, Vector<int32_t> lengths) {
                new (self) PostingLists({ids.data(), ids.size()}, {lengths.data(), lengths.size()});
            },
            nb::arg("ids"), nb::arg("lengths"))
        .def("put", &put, nb::arg("column"), nb::arg("contents"))
        .def("put_counts", &put_rows, nb::arg("indptr"), nb::arg("columns"), nb::arg("counts"), nb::arg("ids"))
        .def("load", &load_lists, nb::arg("columns"), nb::arg("content"), nb::arg("offsets"))
        .def("add", &add_documents, nb::arg("indptr"), nb::arg("columns"), nb::arg("counts"), nb::arg("ids"),
             nb::arg("lengths"))
        .def("remove", &remove_documents, nb::arg("positions"))
        .def("compact", [](PostingLists& lists) { return array_of([&] { return lists.compact(); }); })
        .def("forget_packed", &PostingLists::forget_packed, nb::call_guard<nb::gil_scoped_release>())
        .def("pack", &pack_all)
        .def(
            "evict",
            [](PostingLists& lists, size_t most, int64_t first) {
                return array_of([&] { return lists.evict(most, first); });
            },
            nb::arg("most"), nb::kw_only(), nb::arg("first"))
        .def("holds", &PostingLists::holds, nb::arg("column"), nb::call_guard<nb::gil_scoped_release>())
        .def("document_frequency", &frequency, nb::arg("column"))
        .def("document_frequencies", &frequencies, nb::arg("columns"))
        .def("positions", &positions, nb::arg("column"))
        .def("ids", [](const PostingLists& lists) { return array_of([&] { return lists.ids(); }); })
        .def("lengths", [](const PostingLists& lists) { return array_of([&] { return lists.lengths(); }); })
        .def_prop_ro("n_documents", &PostingLists::n_documents, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("live", &PostingLists::live, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("next_id", &PostingLists::next_id, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("n_words", &PostingLists::n_words, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("nbytes", &PostingLists::nbytes, nb::call_guard<nb::gil_scoped_release>())
        .def("search", &search, nb::arg("indptr"), nb::arg("columns"), nb::arg("weights"), nb::kw_only(), nb::arg("k"),
             nb::arg("k1"), nb::arg("b"), nb::arg("mean_length"), nb::arg("allowed").none(), nb::arg("threads"),
             nb::arg("ranks") = nb::none(), nb::arg("optional") = nb::none());
}

}  // namespace sthash
