// Python's view of the scanner.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "join/repeats.hpp"
#include "join/wording.hpp"
#include "text/counter.hpp"
#include "text/forms.hpp"
#include "text/phrases.hpp"
#include "text/scanner.hpp"
#include "text/spelling.hpp"
#include "text/unicode_tables.hpp"
#include "views.hpp"

namespace sthash {

namespace {

using namespace text;

// Strings as the scanner takes them, kept alive whatever other threads do to the list they came from.
class HeldTexts {
 public:
    // With `normalized`, letters and their accents are one character each (NFC), and wide forms and joined letters are
    // plain ones (NFKC).
    explicit HeldTexts(const nb::list& texts, bool normalized = false)
        : held_(nb::steal(PySequence_Tuple(texts.ptr()))) {
        if (!held_.is_valid()) throw nb::python_error();
        views_.reserve(nb::len(held_));
        for (nb::handle text : nb::borrow<nb::tuple>(held_)) {
            if (!PyUnicode_Check(text.ptr()))
                throw nb::type_error("Every text must be a str. Convert the others first.");
            views_.push_back(view_of(text));
            if (normalized) normalize(text);
        }
    }
    explicit HeldTexts(const nb::str& text, bool normalized = false) : held_(text) {
        views_.push_back(view_of(text));
        if (normalized) normalize(text);
    }

    const std::vector<TextView>& views() const { return views_; }
    const nb::object& object() const { return held_; }

 private:
    // Replaces the last text by its normal form, if it may have another one.
    void normalize(nb::handle text) {
        const NormalForm form = needed_form(views_.back());
        if (form == NormalForm::same) return;
        nb::object normal = nb::module_::import_("unicodedata")
                                .attr("normalize")(form == NormalForm::compatible ? "NFKC" : "NFC", text);
        views_.back() = view_of(normal);
        normal_.push_back(std::move(normal));
    }

    std::vector<nb::object> normal_;
#if defined(Py_LIMITED_API)
    // The stable ABI shows the characters of ASCII strings only; others are copied.
    TextView view_of(nb::handle text) {
        if (nb::cast<bool>(text.attr("isascii")())) {
            Py_ssize_t size = 0;
            const char* characters = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
            if (characters == nullptr) throw nb::python_error();
            return {characters, static_cast<size_t>(size), 1};
        }
        copies_.emplace_back(PyUnicode_AsUCS4Copy(text.ptr()));
        if (!copies_.back()) throw nb::python_error();
        return {copies_.back().get(), static_cast<size_t>(PyUnicode_GetLength(text.ptr())), 4};
    }

    struct Free {
        void operator()(Py_UCS4* copy) const { PyMem_Free(copy); }
    };
    std::vector<std::unique_ptr<Py_UCS4, Free>> copies_;
#else
    TextView view_of(nb::handle text) {
#if PY_VERSION_HEX < 0x030C0000  // later strings are always ready
        if (PyUnicode_READY(text.ptr()) != 0) throw nb::python_error();
#endif
        return {PyUnicode_DATA(text.ptr()), static_cast<size_t>(PyUnicode_GET_LENGTH(text.ptr())),
                static_cast<int>(PyUnicode_KIND(text.ptr()))};
    }
#endif
    nb::object held_;
    std::vector<TextView> views_;
};

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

nb::tuple scan(SharedWordTable& shared, const nb::list& texts, Threads threads) {
    const HeldTexts held(texts, true);
    const std::vector<TextView>& views = held.views();
    size_t characters = 0;
    for (const TextView& view : views) characters += view.length;
    ScannedTexts scanned;
    interruptible_unless(characters < 1 << 16, [&](StopFlag& stop) {
        const std::lock_guard lock(shared.mutex);
        scanned = scan_texts(views, shared.table, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(scanned.starts)), to_numpy(std::move(scanned.words)));
}

nb::tuple wording(const nb::list& texts, Threads threads) {
    const HeldTexts held(texts, true);
    join::Wording found;
    interruptible([&](StopFlag& stop) { found = join::wording_of(held.views(), threads, stop); });
    return nb::make_tuple(to_numpy(std::move(found.indptr)), to_numpy(std::move(found.items)),
                          to_numpy(std::move(found.marks_indptr)), to_numpy(std::move(found.marks)));
}

// A finder that threads may share.
struct SharedRepeatFinder {
    explicit SharedRepeatFinder(const join::RepeatSettings& settings) : finder(settings) {}

    join::RepeatFinder finder;
    std::mutex mutex;
};

void make_repeat_finder(SharedRepeatFinder* self, Whole<size_t> words, Whole<int> filter_bits,
                        Whole<size_t> most_entries, Whole<size_t> template_texts) {
    check(words >= 2, "A passage has at least two words. Pass more.");
    check(filter_bits >= 6 && filter_bits <= 40, "filter_bits must be 6 to 40.");
    check(most_entries >= 1 << 11, "most_entries must be at least 2048.");
    new (self) SharedRepeatFinder({words, filter_bits, most_entries, template_texts});
}

void look_for_repeats(SharedRepeatFinder& self, const nb::list& texts, Threads threads) {
    const HeldTexts held(texts);
    interruptible([&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        self.finder.look(held.views(), threads, stop);
    });
}

nb::ndarray<nb::numpy, int64_t> find_repeats(SharedRepeatFinder& self, const nb::list& texts, Threads threads) {
    const HeldTexts held(texts);
    std::vector<int64_t> rows;
    interruptible([&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        for (const join::RepeatedRun& run : self.finder.find(held.views(), threads, stop))
            rows.insert(rows.end(), {run.text, run.first_word, run.windows, run.earlier});
    });
    const size_t count = rows.size() / 4;
    return to_numpy(std::move(rows), {count, 4});
}

nb::ndarray<nb::numpy, int64_t> places_of_repeats(SharedRepeatFinder& self, const nb::list& texts,
                                                  const Matrix<int64_t>& runs, Threads threads) {
    const HeldTexts held(texts);
    check(runs.shape(1) == 4, "A run has four numbers. Pass what find has returned.");
    std::vector<join::RepeatedRun> given;
    for (size_t i = 0; i < runs.shape(0); ++i) {
        const int64_t* const row = runs.data() + 4 * i;
        const auto fits = [](int64_t number) { return number >= 0 && number < int64_t{1} << 40; };
        check(std::all_of(row, row + 4, fits) && (i == 0 || given.back().text <= row[0]),
              "Runs must be in the order of their texts. Pass what find has returned.");
        given.push_back({row[0], row[1], row[2], row[3]});
    }
    std::vector<int64_t> rows;
    interruptible([&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        for (const join::RepeatedPlace& place : self.finder.places(held.views(), given, threads, stop))
            rows.insert(rows.end(),
                        {place.text, place.start, place.end, place.words, place.earlier, place.of_template ? 1 : 0});
    });
    const size_t count = rows.size() / 6;
    return to_numpy(std::move(rows), {count, 6});
}

nb::tuple count_text_forms(const nb::list& texts, std::optional<Vector<int64_t>> head_indptr,
                           std::optional<Vector<int32_t>> head_columns, bool stemmed, Vector<int32_t> stop_words,
                           Threads threads) {
    const HeldTexts held(texts, true);
    HeadsView heads;
    if (head_indptr && head_columns) {
        check(head_indptr->size() == held.views().size() + 1, "Each text needs a head. Pass equally many of both.");
        const int64_t* const bounds = head_indptr->data();
        check(bounds[0] == 0 && std::is_sorted(bounds, bounds + head_indptr->size()) &&
                  bounds[head_indptr->size() - 1] <= static_cast<int64_t>(head_columns->size()),
              "The bounds of heads must ascend from 0 on, and end within the columns.");
        check(std::all_of(head_columns->data(), head_columns->data() + head_columns->size(),
                          [](int32_t column) { return column >= kFirstForm; }),
              "The columns of heads must be those of forms.");
        heads = {bounds, head_columns->data()};
    }
    size_t characters = 0;
    for (const TextView& view : held.views()) characters += view.length;
    FormRows rows;
    interruptible_unless(characters < 1 << 16, [&](StopFlag& stop) {
        rows = count_forms(held.views(), heads, {stemmed, {stop_words.data(), stop_words.size()}}, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.columns)),
                          to_numpy(std::move(rows.counts)));
}

nb::list heads_of(const nb::list& texts) {
    const HeldTexts held(texts, true);
    nb::list heads;
    for (const TextView& text : held.views()) {
        const TextView head = head_of(text);
        PyObject* const made = PyUnicode_FromKindAndData(head.width, head.data, static_cast<Py_ssize_t>(head.length));
        if (made == nullptr) throw nb::python_error();
        heads.append(nb::steal(made));
    }
    return heads;
}

auto head_columns(const nb::list& stems) {
    const HeldTexts held(stems);
    std::vector<int32_t> columns;
    for (const TextView& stem : held.views()) columns.push_back(head_column(stem));
    return to_numpy(std::move(columns));
}

nb::list text_forms(const nb::str& text) {
    const HeldTexts held(text, true);
    nb::list forms;
    for (const Form& form : forms_of(held.views().front()))
        forms.append(nb::make_tuple(static_cast<int>(form.kind), form.column));
    return forms;
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

// Calls look_up(table, word, number in the list) for some words that are given whole, and returns the numbers that it
// gives; -1 where none is wanted.
template <class Wanted, class LookUp>
nb::ndarray<nb::numpy, int32_t> numbers_of(SharedWordTable& shared, const HeldTexts& held, Wanted&& wanted,
                                           LookUp&& look_up) {
    const auto strings = nb::borrow<nb::tuple>(held.object());
    return shared.locked([&](WordTable& table) {
        std::vector<int32_t> numbers(held.views().size(), WordTable::kAbsent);
        std::vector<char> padded;
        for (size_t i = 0; i < numbers.size(); ++i) {
            if (!wanted(i)) continue;
            Py_ssize_t size = 0;
            const char* bytes = PyUnicode_AsUTF8AndSize(nb::handle(strings[i]).ptr(), &size);
            if (bytes == nullptr) throw nb::python_error();
            padded.resize(static_cast<size_t>(size) + PaddedWord::kPadding);
            std::copy(bytes, bytes + size, padded.data());
            const PaddedWord word{padded.data(), static_cast<size_t>(size)};
            numbers[i] = look_up(table, word);
        }
        return to_numpy(std::move(numbers));
    });
}

// A word that the table lacks is added.
nb::ndarray<nb::numpy, int32_t> add_words(SharedWordTable& shared, const nb::list& words, Vector<bool> wanted) {
    const HeldTexts held(words);
    check(wanted.size() == held.views().size(), "Say of each word whether it is wanted. Pass equally many of both.");
    return numbers_of(
        shared, held, [&](size_t i) { return wanted.data()[i]; },
        [](WordTable& table, const PaddedWord& word) { return table.find_or_add(word, hash_of(word)); });
}

// -1 for a word that the table lacks.
nb::ndarray<nb::numpy, int32_t> find_words(SharedWordTable& shared, const nb::list& words) {
    return numbers_of(
        shared, HeldTexts(words), [](size_t) { return true; },
        [](WordTable& table, const PaddedWord& word) { return table.find(word, hash_of(word)); });
}

nb::ndarray<nb::numpy, uint64_t> hashes_from(SharedWordTable& shared, Whole<size_t> first) {
    return shared.locked([&](const WordTable& table) {
        std::vector<uint64_t> hashes;
        for (size_t number = first; number < table.size(); ++number) hashes.push_back(lasting_hash(table.word(number)));
        return to_numpy(std::move(hashes));
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
    interruptible_unless(words.size() < 1 << 14, [&](StopFlag& stop) {
        rows = count_terms(texts, {term_of.data(), term_of.size(), n_terms}, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices)),
                          to_numpy(std::move(rows.counts)));
}

void make_spelled_words(SpelledWords* self, const nb::list& words, Vector<int64_t> frequencies) {
    const HeldTexts held(words);
    check(frequencies.size() == held.views().size(), "Each word needs one frequency. Pass equally many of both.");
    new (self) SpelledWords(held.views(), frequencies.data());
}

nb::tuple closest(const SpelledWords& self, const nb::str& word, Whole<int> distance, Whole<size_t> count,
                  Threads threads) {
    const HeldTexts held_word(word);
    const TextView given = held_word.views().front();
    check(given.length <= kLongestSpelled, "A word of more than 64 letters cannot be compared. Leave it out.");
    const int most = std::clamp(distance.value, 0, static_cast<int>(kLongestSpelled));
    std::vector<SimilarWord> found;
    interruptible([&](StopFlag& stop) { found = self.similar(given, most, count, threads, stop); });
    std::vector<int64_t> places;
    std::vector<int32_t> distances;
    for (const SimilarWord& similar : found) {
        places.push_back(similar.place);
        distances.push_back(similar.distance);
    }
    return nb::make_tuple(to_numpy(std::move(places)), to_numpy(std::move(distances)));
}

std::string_view view_of(nb::handle bytes) {
    if (!PyBytes_Check(bytes.ptr())) throw nb::type_error("Every text must be bytes. Encode the others first.");
    const auto held = nb::borrow<nb::bytes>(bytes);
    return {static_cast<const char*>(held.data()), held.size()};
}

// Views of the bytes in a tuple, which keeps them alive whatever other threads do to the list that it was made of.
std::vector<std::string_view> views_of(const nb::tuple& texts) {
    std::vector<std::string_view> views;
    views.reserve(nb::len(texts));
    for (nb::handle text : texts) views.push_back(view_of(text));
    return views;
}

nb::bytes learn_phrases(const nb::list& texts) {
    const nb::tuple held(texts);
    const std::vector<std::string_view> views = views_of(held);
    std::string content;
    interruptible([&](StopFlag&) { content = Phrases::content_of(Phrases::learn(views)); });
    return nb::bytes(content.data(), content.size());
}

void make_phrases(Phrases* at, const nb::bytes& content) {
    new (at) Phrases(std::string_view(static_cast<const char*>(content.data()), content.size()));
}

// Each text with `prefix` before it.
nb::list pack_texts(const Phrases& phrases, const nb::list& texts, const nb::bytes& prefix, Threads threads) {
    const nb::tuple held(texts);
    const std::vector<std::string_view> views = views_of(held);
    const std::string begin(static_cast<const char*>(prefix.data()), prefix.size());
    std::vector<std::string> packed(views.size(), begin);
    size_t size = 0;
    for (const std::string_view view : views) size += view.size();
    interruptible_unless(size < 1 << 14, [&](StopFlag& stop) {
        parallel_for(views.size(), 64, threads, stop, [&](size_t first, size_t last, int) {
            for (size_t i = first; i < last; ++i) phrases.pack(views[i], packed[i]);
        });
    });
    nb::list result;
    for (const std::string& each : packed) result.append(nb::bytes(each.data(), each.size()));
    return result;
}

nb::bytes unpack_text(const Phrases& phrases, const nb::bytes& packed, Whole<size_t> start) {
    std::string_view content = view_of(packed);
    content.remove_prefix(std::min<size_t>(start, content.size()));
    nb::object text = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(phrases.size_of(content))));
    if (!text.is_valid()) throw nb::python_error();
    phrases.unpack(content, PyBytes_AsString(text.ptr()));
    return nb::cast<nb::bytes>(text);
}

}  // namespace

void bind_text(nb::module_& module) {
    nb::class_<SharedWordTable>(module, "WordTable")
        .def(nb::init<>())
        .def("__len__", &length)
        .def("nbytes", &bytes)
        .def("longest_probe", &longest_probe)
        .def("scan", &scan, nb::arg("texts"), nb::kw_only(), nb::arg("threads"))
        .def("add", &add_words, nb::arg("words"), nb::arg("wanted"))
        .def("find", &find_words, nb::arg("words"))
        .def("words_from", &words_from, nb::arg("first"))
        .def("hashes_from", &hashes_from, nb::arg("first"))
        .def("words_at", &words_at, nb::arg("numbers"));
    module.def("count_terms", &count, nb::arg("starts"), nb::arg("words"), nb::kw_only(), nb::arg("term_of"),
               nb::arg("n_terms"), nb::arg("threads"));
    nb::class_<SpelledWords>(module, "SpelledWords")
        .def("__init__", &make_spelled_words, nb::arg("words"), nb::arg("frequencies"))
        .def("closest", &closest, nb::arg("word"), nb::kw_only(), nb::arg("distance"), nb::arg("count"),
             nb::arg("threads"));
    nb::class_<SharedRepeatFinder>(module, "RepeatFinder")
        .def("__init__", &make_repeat_finder, nb::kw_only(), nb::arg("words"), nb::arg("filter_bits"),
             nb::arg("most_entries"), nb::arg("template_texts"))
        .def("look", &look_for_repeats, nb::arg("texts"), nb::kw_only(), nb::arg("threads"))
        .def("find", &find_repeats, nb::arg("texts"), nb::kw_only(), nb::arg("threads"))
        .def("end_pass",
             [](SharedRepeatFinder& self) {
                 const std::lock_guard lock(self.mutex);
                 self.finder.end_pass();
             })
        .def_prop_ro("done",
                     [](SharedRepeatFinder& self) {
                         const std::lock_guard lock(self.mutex);
                         return self.finder.done();
                     })
        .def("places", &places_of_repeats, nb::arg("texts"), nb::arg("runs"), nb::kw_only(), nb::arg("threads"));
    module.def("wording", &wording, nb::arg("texts"), nb::kw_only(), nb::arg("threads"));
    module.def("count_forms", &count_text_forms, nb::arg("texts"), nb::kw_only(), nb::arg("head_indptr") = nb::none(),
               nb::arg("head_columns") = nb::none(), nb::arg("stemmed"), nb::arg("stop_words"), nb::arg("threads"));
    module.def("heads_of", &heads_of, nb::arg("texts"));
    module.def("head_columns", &head_columns, nb::arg("stems"));
    module.def("forms_of", &text_forms, nb::arg("text"));
    nb::class_<Phrases>(module, "Phrases")
        .def("__init__", &make_phrases, nb::arg("content"))
        .def("__len__", &Phrases::size)
        .def("pack", &pack_texts, nb::arg("texts"), nb::kw_only(), nb::arg("prefix"), nb::arg("threads"))
        .def("unpack", &unpack_text, nb::arg("packed"), nb::kw_only(), nb::arg("start"));
    module.def("learn_phrases", &learn_phrases, nb::arg("texts"));
    module.attr("FIRST_FORM") = kFirstForm;
    module.attr("unicode_version") = unicode::kVersion;
}

}  // namespace sthash
