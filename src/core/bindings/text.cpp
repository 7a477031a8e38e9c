// Python's view of the scanner.
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "text/counter.hpp"
#include "text/scanner.hpp"
#include "text/unicode_tables.hpp"
#include "views.hpp"

namespace sthash {

namespace {

TextView view_of(PyObject* text) {
#if PY_VERSION_HEX < 0x030C0000  // later strings are always ready
    if (PyUnicode_READY(text) != 0) throw nb::python_error();
#endif
    return {PyUnicode_DATA(text), static_cast<size_t>(PyUnicode_GET_LENGTH(text)),
            static_cast<int>(PyUnicode_KIND(text))};
}

nb::tuple scan(WordTable& table, const nb::list& texts, Threads threads) {
    std::vector<TextView> views;
    views.reserve(texts.size());
    for (nb::handle text : texts) {
        if (!PyUnicode_Check(text.ptr())) throw nb::type_error("Every text must be a str. Convert the others first.");
        views.push_back(view_of(text.ptr()));
    }
    ScannedTexts scanned;
    interruptible([&](StopFlag& stop) { scanned = scan_texts(views, table, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(scanned.starts)), to_numpy(std::move(scanned.words)));
}

nb::list words_from(const WordTable& table, Whole<size_t> first) {
    nb::list words;
    for (size_t number = first; number < table.size(); ++number) {
        const PaddedWord word = table.word(number);
        words.append(nb::str(word.data, word.size));
    }
    return words;
}

nb::tuple count(Vector<int64_t> starts, Vector<int32_t> words, Vector<int32_t> term_of, Whole<size_t> n_terms,
                Threads threads) {
    check_bounds(starts, words.size());
    const WordsView texts{starts.data(), words.data(), starts.size() - 1};
    CountRows rows;
    interruptible(
        [&](StopFlag& stop) { rows = count_terms(texts, {term_of.data(), term_of.size(), n_terms}, threads, stop); });
    return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices)),
                          to_numpy(std::move(rows.counts)));
}

}  // namespace

void bind_text(nb::module_& module) {
    nb::class_<WordTable>(module, "WordTable")
        .def(nb::init<>())
        .def("__len__", &WordTable::size)
        .def("scan", &scan, nb::arg("texts"), nb::kw_only(), nb::arg("threads"))
        .def("words_from", &words_from, nb::arg("first"));
    module.def("count_terms", &count, nb::arg("starts"), nb::arg("words"), nb::kw_only(), nb::arg("term_of"),
               nb::arg("n_terms"), nb::arg("threads"));
    module.attr("unicode_version") = unicode::version;
}

}  // namespace sthash
