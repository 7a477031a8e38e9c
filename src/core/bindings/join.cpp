// Python's view of similarity joins and of sets of shingles.
#include <mutex>

#include "bindings.hpp"
#include "equal_rows.hpp"
#include "join/set_index.hpp"
#include "join/shingles.hpp"
#include "join/similarity_join.hpp"
#include "views.hpp"

namespace sthash {

namespace {

using namespace join;

// A join that threads may share.
struct SharedJoin {
    std::unique_ptr<SimilarityJoin> join;
    std::mutex mutex;
    std::optional<Vector<int64_t>> marks_indptr;  // read by the join
    std::optional<Vector<uint64_t>> marks;
};

void check_marks(const Vector<int64_t>& indptr, const Vector<uint64_t>& marks, size_t n_texts) {
    check_bounds(indptr, marks.size());
    check(indptr.size() == n_texts + 1, "Each text needs its marks. Pass those of the same texts.");
}

void start(SharedJoin* self, const RowArrays& rows, Vector<int64_t> chosen, Vector<float> squares, Whole<int> measure,
           double threshold, Whole<size_t> first_query, Whole<size_t> most_per_row, Whole<size_t> most_pairs,
           std::optional<Vector<int64_t>> marks_indptr, std::optional<Vector<uint64_t>> marks, bool keep_numbers,
           Threads threads) {
    check(!rows.is_dense(), "The rows must be sparse. Pass dense rows to HammingIndex.");
    check(chosen.size() < size_t{1} << 30, "A join takes at most 1073741823 rows. Join fewer rows at once.");
    check(squares.size() == rows.n_rows(), "Each row needs its squared length. Pass equally many of both.");
    check(measure >= 0 && measure <= 2, "measure must be 0 (cosine), 1 (Jaccard) or 2 (containment).");
    check(threshold > 0, "threshold must be above 0. Nearly all pairs would reach it.");
    for (size_t i = 0; i < chosen.size(); ++i)
        check(chosen.data()[i] >= (i == 0 ? 0 : chosen.data()[i - 1] + 1) &&
                  static_cast<size_t>(chosen.data()[i]) < rows.n_rows(),
              "Chosen rows must ascend and be there. Pass each once.");
    check(first_query <= chosen.size(), "first_query must be at most the number of rows. Lower it.");
    JoinProblem problem{rows.view(),      chosen.data(),  chosen.size(),
                        rows.n_columns(), squares.data(), static_cast<Measure>(measure.value),
                        threshold,        first_query,    most_per_row,
                        most_pairs};
    check(marks_indptr.has_value() == marks.has_value(), "Pass both arrays of marks, or none.");
    if (marks) {
        check(rows.n_rows() % 2 == 0, "A text has two rows. Pass both.");
        check_marks(*marks_indptr, *marks, rows.n_rows() / 2);
        problem.marks = {marks_indptr->data(), marks->data(), keep_numbers};
    }
    auto* shared = new (self) SharedJoin;
    shared->marks_indptr = marks_indptr;
    shared->marks = marks;
    interruptible([&](StopFlag& stop) { shared->join = std::make_unique<SimilarityJoin>(problem, threads, stop); });
}

nb::tuple next_block(SharedJoin& self) {
    SimilarPairs pairs;
    interruptible([&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        pairs = self.join->next(stop);
    });
    return nb::make_tuple(to_numpy(std::move(pairs.left)), to_numpy(std::move(pairs.right)),
                          to_numpy(std::move(pairs.scores)));
}

// An index that threads may share.
struct SharedSetIndex {
    SharedSetIndex(Measure measure, double threshold) : index(measure, threshold) {}

    SetIndex index;
    std::mutex mutex;
};

void make_set_index(SharedSetIndex* self, Whole<int> measure, double threshold) {
    check(measure == 1 || measure == 2, "measure must be 1 (Jaccard) or 2 (containment).");
    check(threshold > 0 && threshold <= 1, "threshold must be above 0 and at most 1.");
    new (self) SharedSetIndex(static_cast<Measure>(measure.value), threshold);
}

void check_sets(const Vector<int64_t>& indptr, const Vector<uint64_t>& items) {
    check_bounds(indptr, items.size());
    for (size_t i = 0; i + 1 < indptr.size(); ++i)
        for (int64_t at = indptr.data()[i] + 1; at < indptr.data()[i + 1]; ++at)
            check(items.data()[at - 1] < items.data()[at], "The items of a set must ascend. Sort them, each once.");
}

// For each set the most similar one before it, and how similar it is. If `keep`, those without one are added: all of
// them if `all`.
nb::tuple match_sets(SharedSetIndex& self, Vector<int64_t> indptr, Vector<uint64_t> items, bool keep, bool all) {
    check_sets(indptr, items);
    std::vector<int64_t> sets;
    std::vector<double> scores;
    interruptible_unless(items.size() < 1 << 12, [&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        for (size_t i = 0; i + 1 < indptr.size() && !stop.load(); ++i) {
            const uint64_t* const own = items.data() + indptr.data()[i];
            const auto count = static_cast<size_t>(indptr.data()[i + 1] - indptr.data()[i]);
            const SetIndex::Match match = all ? SetIndex::Match{} : self.index.find(own, count);
            sets.push_back(match.set);
            scores.push_back(match.score);
            if (keep && match.set < 0) self.index.add(own, count);
        }
    });
    return nb::make_tuple(to_numpy(std::move(sets)), to_numpy(std::move(scores)));
}

nb::tuple sets_in(SharedSetIndex& self) {
    const std::lock_guard lock(self.mutex);
    return nb::make_tuple(to_numpy(std::vector<int64_t>(self.index.bounds())),
                          to_numpy(std::vector<uint64_t>(self.index.items())));
}

// A text index that threads may share.
struct SharedTextIndex {
    SharedTextIndex(double threshold, bool keep_numbers) : index(threshold, keep_numbers) {}

    TextIndex index;
    std::mutex mutex;
};

void make_text_index(SharedTextIndex* self, double threshold, bool keep_numbers) {
    check(threshold > 0 && threshold <= 1, "threshold must be above 0 and at most 1.");
    new (self) SharedTextIndex(threshold, keep_numbers);
}

// Texts as `wording` gives them.
struct WordingArrays {
    Vector<int64_t> indptr;
    Vector<uint64_t> items;
    Vector<int64_t> marks_indptr;
    Vector<uint64_t> marks;

    void validate() const {
        check_sets(indptr, items);
        check(indptr.size() % 2 == 1, "A text has two sets. Pass both.");
        check_marks(marks_indptr, marks, size());
        for (size_t i = 0; i < size(); ++i)
            for (int64_t at = marks_indptr.data()[i] + 2; at < marks_indptr.data()[i + 1]; ++at)
                check(marks.data()[at - 1] <= marks.data()[at], "The marks of a text must ascend. Sort them.");
    }
    size_t size() const { return indptr.size() / 2; }
    TextSets at(size_t i) const {
        const int64_t *bounds = indptr.data() + 2 * i, *own = marks_indptr.data() + i;
        return {items.data() + bounds[0], items.data() + bounds[1], items.data() + bounds[2], marks.data() + own[0],
                marks.data() + own[1]};
    }
};

// As `match_sets`, for texts.
nb::tuple match_texts(SharedTextIndex& self, const WordingArrays& texts, bool keep, bool all) {
    texts.validate();
    std::vector<int64_t> places;
    std::vector<double> scores;
    interruptible_unless(texts.items.size() < 1 << 12, [&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        for (size_t i = 0; i < texts.size() && !stop.load(); ++i) {
            const SetIndex::Match match = all ? SetIndex::Match{} : self.index.find(texts.at(i));
            places.push_back(match.set);
            scores.push_back(match.score);
            if (keep && match.set < 0) self.index.add(texts.at(i));
        }
    });
    return nb::make_tuple(to_numpy(std::move(places)), to_numpy(std::move(scores)));
}

// The similarities of text 2 * i and text 2 * i + 1.
nb::ndarray<nb::numpy, double> scores_of_pairs(Vector<int64_t> indptr, Vector<uint64_t> items,
                                               Vector<int64_t> marks_indptr, Vector<uint64_t> marks,
                                               bool keep_numbers) {
    const WordingArrays texts{indptr, items, marks_indptr, marks};
    texts.validate();
    check(texts.size() % 2 == 0, "Texts must come in pairs. Pass both of each.");
    std::vector<double> scores;
    interruptible_unless(items.size() < 1 << 14, [&](StopFlag& stop) {
        for (size_t i = 0; i < texts.size() && !stop.load(); i += 2)
            scores.push_back(wording_similarity(texts.at(i), texts.at(i + 1), keep_numbers));
    });
    return to_numpy(std::move(scores));
}

nb::tuple wording_tuple(Wording texts) {
    return nb::make_tuple(to_numpy(std::move(texts.indptr)), to_numpy(std::move(texts.items)),
                          to_numpy(std::move(texts.marks_indptr)), to_numpy(std::move(texts.marks)));
}

template <bool keep, bool all>
nb::tuple match_wording(SharedTextIndex& self, Vector<int64_t> indptr, Vector<uint64_t> items,
                        Vector<int64_t> marks_indptr, Vector<uint64_t> marks) {
    return match_texts(self, {indptr, items, marks_indptr, marks}, keep, all);
}

void check_words(const Vector<int32_t>& words, const Vector<uint64_t>& hashes) {
    for (size_t at = 0; at < words.size(); ++at)
        check(static_cast<uint32_t>(words.data()[at]) < hashes.size(),
              "A word has no hash. Pass the hashes of all words of the table.");
}

nb::tuple sets_of(Vector<int64_t> starts, Vector<int32_t> words, Vector<uint64_t> hashes, Whole<size_t> size,
                  Threads threads) {
    check_bounds(starts, words.size());
    check_words(words, hashes);
    check(size >= 1, "A shingle has at least one word. Pass a size of 1 or more.");
    Sets sets;
    interruptible_unless(words.size() < 1 << 14, [&](StopFlag& stop) {
        sets = shingle_sets({starts.data(), words.data(), starts.size() - 1}, hashes.data(), size, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(sets.indptr)), to_numpy(std::move(sets.items)));
}

nb::ndarray<nb::numpy, int64_t> equal_rows(const RowArrays& rows, Threads threads) {
    std::vector<int64_t> first;
    interruptible([&](StopFlag& stop) { first = first_equal_rows(rows.view(), threads, stop); });
    return to_numpy(std::move(first));
}

nb::ndarray<nb::numpy, int64_t> equal_sets(Vector<int64_t> indptr, Vector<uint64_t> items, Threads threads) {
    check_bounds(indptr, items.size());
    std::vector<int64_t> first;
    interruptible([&](StopFlag& stop) {
        first = first_equal_sets(indptr.data(), indptr.size() - 1, items.data(), threads, stop);
    });
    return to_numpy(std::move(first));
}

nb::tuple columns_of(Vector<int64_t> indptr, Vector<uint64_t> items, Threads threads) {
    check_bounds(indptr, items.size());
    SharedColumns shared;
    interruptible([&](StopFlag& stop) {
        shared = shared_columns(indptr.data(), indptr.size() - 1, items.data(), threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(shared.indptr)), to_numpy(std::move(shared.columns)), shared.n_columns);
}

}  // namespace

void bind_join(nb::module_& module) {
    nb::class_<SharedJoin>(module, "SimilarityJoin")
        .def("__init__", &start, nb::arg("rows"), nb::kw_only(), nb::arg("chosen"), nb::arg("squares"),
             nb::arg("measure"), nb::arg("threshold"), nb::arg("first_query") = Whole<size_t>{0},
             nb::arg("most_per_row"), nb::arg("most_pairs"), nb::arg("marks_indptr") = nb::none(),
             nb::arg("marks") = nb::none(), nb::arg("keep_numbers") = false, nb::arg("threads"))
        .def("next", &next_block)
        .def_prop_ro("done", [](SharedJoin& self) { return self.join->done(); })
        .def_prop_ro("position", [](SharedJoin& self) { return self.join->position(); })
        .def_prop_ro("complete", [](SharedJoin& self) { return self.join->complete(); })
        .def("nearest", [](SharedJoin& self) {
            const std::lock_guard lock(self.mutex);
            return to_numpy(std::vector<double>(self.join->nearest()));
        });
    nb::class_<SharedSetIndex>(module, "SetIndex")
        .def("__init__", &make_set_index, nb::kw_only(), nb::arg("measure"), nb::arg("threshold"))
        .def("__len__",
             [](SharedSetIndex& self) {
                 const std::lock_guard lock(self.mutex);
                 return self.index.size();
             })
        .def(
            "find",
            [](SharedSetIndex& self, Vector<int64_t> indptr, Vector<uint64_t> items) {
                return match_sets(self, indptr, items, false, false);
            },
            nb::arg("indptr"), nb::arg("items"))
        .def(
            "find_or_add",
            [](SharedSetIndex& self, Vector<int64_t> indptr, Vector<uint64_t> items) {
                return match_sets(self, indptr, items, true, false);
            },
            nb::arg("indptr"), nb::arg("items"))
        .def(
            "add",
            [](SharedSetIndex& self, Vector<int64_t> indptr, Vector<uint64_t> items) {
                match_sets(self, indptr, items, true, true);
            },
            nb::arg("indptr"), nb::arg("items"))
        .def(
            "truncate",
            [](SharedSetIndex& self, Whole<size_t> count) {
                const nb::gil_scoped_release released;
                const std::lock_guard lock(self.mutex);
                self.index.truncate(count);
            },
            nb::arg("count"))
        .def("sets", &sets_in);
    nb::class_<SharedTextIndex>(module, "TextIndex")
        .def("__init__", &make_text_index, nb::kw_only(), nb::arg("threshold"), nb::arg("keep_numbers"))
        .def("__len__",
             [](SharedTextIndex& self) {
                 const std::lock_guard lock(self.mutex);
                 return self.index.size();
             })
        .def("find", &match_wording<false, false>, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
             nb::arg("marks"))
        .def("find_or_add", &match_wording<true, false>, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
             nb::arg("marks"))
        .def("add", &match_wording<true, true>, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
             nb::arg("marks"))
        .def(
            "truncate",
            [](SharedTextIndex& self, Whole<size_t> count) {
                const nb::gil_scoped_release released;
                const std::lock_guard lock(self.mutex);
                self.index.truncate(count);
            },
            nb::arg("count"))
        .def("texts", [](SharedTextIndex& self) {
            const std::lock_guard lock(self.mutex);
            return wording_tuple(self.index.texts());
        });
    module.def("wording_scores", &scores_of_pairs, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
               nb::arg("marks"), nb::kw_only(), nb::arg("keep_numbers"));
    module.def("shingle_sets", &sets_of, nb::arg("starts"), nb::arg("words"), nb::arg("hashes"), nb::kw_only(),
               nb::arg("size"), nb::arg("threads"));
    module.def("first_equal_rows", &equal_rows, nb::arg("rows"), nb::kw_only(), nb::arg("threads"));
    module.def("first_equal_sets", &equal_sets, nb::arg("indptr"), nb::arg("items"), nb::kw_only(), nb::arg("threads"));
    module.def("shared_columns", &columns_of, nb::arg("indptr"), nb::arg("items"), nb::kw_only(), nb::arg("threads"));
}

}  // namespace sthash
