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

// A table that threads may share.
struct SharedWordTable {
    // Calls use(table) while no other thread has it, without the GIL while it waits for them.
    template <class Use>
    auto locked(Use&& use) {
        std::unique_lock lock(mutex, std::try_to_lock);
        if (!lock.owns_lock()) {
            const nb::gil_scoped_release released;
            lock.lock();
        }
        return use(table);
    }

    WordTable table;
    std::mutex mutex;
};

nb::tuple scan(SharedWordTable& shared, const nb::list& texts, Whole<int> segmentation, Threads threads) {
    check(segmentation == 1 || segmentation == 2, "segmentation must be 1 or 2. Use 2 for new models.");
    // The tuple keeps the texts alive if another thread changes the list meanwhile.
    const nb::object held = nb::steal(PySequence_Tuple(texts.ptr()));
    if (!held.is_valid()) throw nb::python_error();
    std::vector<TextView> views;
    views.reserve(nb::len(held));
    for (nb::handle text : nb::borrow<nb::tuple>(held)) {
        if (!PyUnicode_Check(text.ptr())) throw nb::type_error("Every text must be a str. Convert the others first.");
        views.push_back(view_of(text.ptr()));
    }
    ScannedTexts scanned;
    interruptible([&](StopFlag& stop) {
        const std::lock_guard lock(shared.mutex);
        scanned = scan_texts(views, shared.table, static_cast<Segmentation>(segmentation.value), threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(scanned.starts)), to_numpy(std::move(scanned.words)));
}

nb::list words_from(SharedWordTable& shared, Whole<size_t> first) {
    return shared.locked([&](const WordTable& table) {
        nb::list words;
        for (size_t number = first; number < table.size(); ++number) {
            const PaddedWord word = table.word(number);
            words.append(nb::str(word.data, word.size));
        }
        return words;
    });
}

nb::list words_at(SharedWordTable& shared, Vector<int32_t> numbers) {
    return shared.locked([&](const WordTable& table) {
        nb::list words;
        for (size_t i = 0; i < numbers.size(); ++i) {
            const auto number = static_cast<uint32_t>(numbers.data()[i]);
            check(number < table.size(), "The table has no word of this number. Use numbers that scan has given.");
            const PaddedWord word = table.word(number);
            words.append(nb::str(word.data, word.size));
        }
        return words;
    });
}

size_t length(SharedWordTable& shared) {
    return shared.locked([](const WordTable& table) { return table.size(); });
}

size_t bytes(SharedWordTable& shared) {
    return shared.locked([](const WordTable& table) { return table.bytes(); });
}

size_t longest_probe(SharedWordTable& shared) {
    return shared.locked([](const WordTable& table) { return table.longest_probe(); });
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
    nb::class_<SharedWordTable>(module, "WordTable")
        .def(nb::init<>())
        .def("__len__", &length)
        .def("nbytes", &bytes)
        .def("longest_probe", &longest_probe)
        .def("scan", &scan, nb::arg("texts"), nb::kw_only(), nb::arg("segmentation") = Whole<int>{2},
             nb::arg("threads"))
        .def("words_from", &words_from, nb::arg("first"))
        .def("words_at", &words_at, nb::arg("numbers"));
    module.def("count_terms", &count, nb::arg("starts"), nb::arg("words"), nb::kw_only(), nb::arg("term_of"),
               nb::arg("n_terms"), nb::arg("threads"));
    module.attr("unicode_version") = unicode::version;
}

}  // namespace sthash
