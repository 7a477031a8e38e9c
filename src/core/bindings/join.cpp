// Python's view of similarity joins and of sets of shingles.
#include <mutex>

#include "bindings.hpp"
#include "equal_rows.hpp"
#include "join/partition.hpp"
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

// An index that threads may share, with the groups of what it has.
template <class Index>
struct SharedIndex {
    template <class... Arguments>
    explicit SharedIndex(Arguments... arguments) : index(arguments...) {}

    Index index;
    Groups groups;
    std::mutex mutex;
};
using SharedSetIndex = SharedIndex<SetIndex>;
using SharedTextIndex = SharedIndex<TextIndex>;

// For each one the most similar one before it, how similar it is, and its place, or that of an equal one. If `keep`,
// those without an equal one are added, and grouped with all that they are similar to: all, ungrouped, if `all`. Where
// a score of 1 does not mean equal, but part of another one, `of_part`, those are grouped too.
template <class Index, class Find, class Add>
nb::tuple matched(SharedIndex<Index>& self, size_t count, size_t n_items, bool keep, bool all, bool of_part,
                  Find&& find, Add&& add) {
    std::vector<int64_t> others, places;
    std::vector<double> scores;
    interruptible_unless(n_items < 1 << 12, [&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        Matches matches{{}, self.groups};
        for (size_t i = 0; i < count && !stop.load(); ++i) {
            matches.sets.clear();
            const SetIndex::Match match = all ? SetIndex::Match{} : find(i, keep ? &matches : nullptr);
            others.push_back(match.set);
            scores.push_back(match.score);
            places.push_back(match.score == 1 ? match.set : static_cast<int64_t>(self.index.size()));
            if (!keep) continue;
            if (match.score < 1) add(i);
            self.groups.grow(self.index.size());
            if (match.score < 1 || of_part)
                for (const int32_t set : matches.sets) self.groups.join(static_cast<int32_t>(places.back()), set);
        }
    });
    return nb::make_tuple(to_numpy(std::move(others)), to_numpy(std::move(scores)), to_numpy(std::move(places)));
}

// The groups of an index: the first one of each one's group, and links that make them.
nb::ndarray<nb::numpy, int64_t> firsts_of(Groups& groups) {
    std::vector<int64_t> firsts;
    for (size_t one = 0; one < groups.size(); ++one) firsts.push_back(groups.first_of(static_cast<int32_t>(one)));
    return to_numpy(std::move(firsts));
}

nb::ndarray<nb::numpy, int64_t> links_of(const Groups& groups) {
    std::vector<int64_t> links;
    for (const auto& [left, right] : groups.links()) links.insert(links.end(), {left, right});
    return to_numpy(std::move(links));
}

void join_groups(Groups& groups, const Vector<int64_t>& links) {
    check(links.size() % 2 == 0, "A link has two ends. Pass both.");
    for (size_t at = 0; at < links.size(); ++at)
        check(links.data()[at] >= 0 && static_cast<size_t>(links.data()[at]) < groups.size(),
              "A link leads to what is not there. Pass those of this index.");
    for (size_t at = 0; at < links.size(); at += 2)
        groups.join(static_cast<int32_t>(links.data()[at]), static_cast<int32_t>(links.data()[at + 1]));
}

// What indexes of sets and of texts have in common.
template <class Class>
void bind_groups(nb::class_<Class>& bound) {
    bound
        .def("__len__",
             [](Class& self) {
                 const std::lock_guard lock(self.mutex);
                 return self.index.size();
             })
        .def(
            "truncate",
            [](Class& self, Whole<size_t> count) {
                const nb::gil_scoped_release released;
                const std::lock_guard lock(self.mutex);
                self.index.truncate(count);
                self.groups.truncate(count);
            },
            nb::arg("count"))
        .def("firsts",
             [](Class& self) {
                 const std::lock_guard lock(self.mutex);
                 return firsts_of(self.groups);
             })
        .def("links",
             [](Class& self) {
                 const std::lock_guard lock(self.mutex);
                 return links_of(self.groups);
             })
        .def(
            "join",
            [](Class& self, Vector<int64_t> links) {
                const std::lock_guard lock(self.mutex);
                join_groups(self.groups, links);
            },
            nb::arg("links"));
}

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

nb::tuple match_sets(SharedSetIndex& self, Vector<int64_t> indptr, Vector<uint64_t> items, bool keep, bool all) {
    check_sets(indptr, items);
    const auto begin = [&](size_t i) { return items.data() + indptr.data()[i]; };
    const auto count = [&](size_t i) { return static_cast<size_t>(indptr.data()[i + 1] - indptr.data()[i]); };
    return matched(
        self, indptr.size() - 1, items.size(), keep, all, true,
        [&](size_t i, Matches* matches) { return self.index.find(begin(i), count(i), {}, matches); },
        [&](size_t i) { self.index.add(begin(i), count(i)); });
}

nb::tuple sets_in(SharedSetIndex& self) {
    const std::lock_guard lock(self.mutex);
    return nb::make_tuple(to_numpy(std::vector<int64_t>(self.index.bounds())),
                          to_numpy(std::vector<uint64_t>(self.index.items())));
}

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

nb::tuple match_texts(SharedTextIndex& self, const WordingArrays& texts, bool keep, bool all) {
    texts.validate();
    return matched(
        self, texts.size(), texts.items.size(), keep, all, false,
        [&](size_t i, Matches* matches) { return self.index.find(texts.at(i), matches); },
        [&](size_t i) { self.index.add(texts.at(i)); });
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

struct SharedPartition {
    SharedPartition(double threshold, size_t n_counters, size_t per_text, uint64_t key)
        : partition(threshold, n_counters, key), per_text(per_text) {}

    Partition partition;
    size_t per_text;
    std::mutex mutex;

    SetsView view(const Vector<int64_t>& indptr, const Vector<uint64_t>& items) const {
        check_bounds(indptr, items.size());
        check((indptr.size() - 1) % per_text == 0, "Each text needs all its sets. Pass them.");
        return {indptr.data(), items.data(), (indptr.size() - 1) / per_text, per_text};
    }
};

void make_partition(SharedPartition* self, double threshold, Whole<size_t> n_counters, Whole<size_t> per_text,
                    uint64_t key) {
    check(threshold > 0 && threshold <= 1, "threshold must be above 0 and at most 1.");
    check(n_counters >= 1 && n_counters <= size_t{1} << 40, "n_counters must be from 1 to 2^40.");
    check(per_text == 1 || per_text == 2, "A text has one set or two.");
    new (self) SharedPartition(threshold, n_counters, per_text, key);
}

void count_sets(SharedPartition& self, Vector<int64_t> indptr, Vector<uint64_t> items, bool second_round) {
    const SetsView sets = self.view(indptr, items);
    const nb::gil_scoped_release released;
    const std::lock_guard lock(self.mutex);
    self.partition.count(sets, second_round);
}

nb::tuple place_sets(SharedPartition& self, Vector<int64_t> indptr, Vector<uint64_t> items, Whole<size_t> n_parts,
                     Threads threads) {
    check(n_parts >= 1 && n_parts <= kMostRows, "n_parts must be from 1 to 2147483647.");
    const SetsView sets = self.view(indptr, items);
    Placed placed;
    interruptible([&](StopFlag& stop) {
        const std::lock_guard lock(self.mutex);
        placed = self.partition.place(sets, n_parts, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(placed.texts)), to_numpy(std::move(placed.parts)),
                          to_numpy(std::move(placed.sets)));
}

// The items of some rows, one after the other.
nb::ndarray<nb::numpy, uint64_t> gathered(Vector<int64_t> indptr, Vector<uint64_t> items, Vector<int64_t> rows) {
    check_bounds(indptr, items.size());
    size_t size = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t row = rows.data()[i];
        check(row >= 0 && static_cast<size_t>(row) + 1 < indptr.size(), "A row is not there. Pass rows that are.");
        size += static_cast<size_t>(indptr.data()[row + 1] - indptr.data()[row]);
    }
    std::vector<uint64_t> found;
    interruptible_unless(size < 1 << 14, [&](StopFlag& stop) {
        found.reserve(size);
        for (size_t i = 0; i < rows.size() && !stop.load(); ++i) {
            const int64_t row = rows.data()[i];
            found.insert(found.end(), items.data() + indptr.data()[row], items.data() + indptr.data()[row + 1]);
        }
    });
    return to_numpy(std::move(found));
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
    nb::class_<SharedSetIndex> set_index(module, "SetIndex");
    set_index.def("__init__", &make_set_index, nb::kw_only(), nb::arg("measure"), nb::arg("threshold"))
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
        .def("sets", &sets_in);
    bind_groups(set_index);
    nb::class_<SharedTextIndex> text_index(module, "TextIndex");
    text_index.def("__init__", &make_text_index, nb::kw_only(), nb::arg("threshold"), nb::arg("keep_numbers"))
        .def("find", &match_wording<false, false>, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
             nb::arg("marks"))
        .def("find_or_add", &match_wording<true, false>, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
             nb::arg("marks"))
        .def("add", &match_wording<true, true>, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
             nb::arg("marks"))
        .def("texts", [](SharedTextIndex& self) {
            const std::lock_guard lock(self.mutex);
            return wording_tuple(self.index.texts());
        });
    bind_groups(text_index);
    nb::class_<Groups>(module, "Groups")
        .def(nb::init<>())
        .def("__len__", &Groups::size)
        .def(
            "grow",
            [](Groups& self, Whole<size_t> count) {
                check(count <= kMostRows, "There can be at most 2147483647.");
                self.grow(count);
            },
            nb::arg("count"))
        .def(
            "truncate", [](Groups& self, Whole<size_t> count) { self.truncate(count); }, nb::arg("count"))
        .def("firsts", &firsts_of)
        .def("links", &links_of)
        .def("join", [](Groups& self, Vector<int64_t> links) { join_groups(self, links); }, nb::arg("links"));
    nb::class_<SharedPartition>(module, "Partition")
        .def("__init__", &make_partition, nb::kw_only(), nb::arg("threshold"), nb::arg("n_counters"),
             nb::arg("per_text"), nb::arg("key"))
        .def("count", &count_sets, nb::arg("indptr"), nb::arg("items"), nb::kw_only(), nb::arg("second_round"))
        .def("place", &place_sets, nb::arg("indptr"), nb::arg("items"), nb::kw_only(), nb::arg("n_parts"),
             nb::arg("threads"));
    module.def("gathered", &gathered, nb::arg("indptr"), nb::arg("items"), nb::arg("rows"));
    module.def("wording_scores", &scores_of_pairs, nb::arg("indptr"), nb::arg("items"), nb::arg("marks_indptr"),
               nb::arg("marks"), nb::kw_only(), nb::arg("keep_numbers"));
    module.def("shingle_sets", &sets_of, nb::arg("starts"), nb::arg("words"), nb::arg("hashes"), nb::kw_only(),
               nb::arg("size"), nb::arg("threads"));
    module.def("first_equal_rows", &equal_rows, nb::arg("rows"), nb::kw_only(), nb::arg("threads"));
    module.def("first_equal_sets", &equal_sets, nb::arg("indptr"), nb::arg("items"), nb::kw_only(), nb::arg("threads"));
    module.def("shared_columns", &columns_of, nb::arg("indptr"), nb::arg("items"), nb::kw_only(), nb::arg("threads"));
}

}  // namespace sthash
