// Near-duplicates: similar pairs of rows, sets that keep coming, and shingles.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "check.hpp"
#include "join/set_index.hpp"
#include "join/shingles.hpp"
#include "join/similarity_join.hpp"

using namespace sthash;
using namespace sthash::join;
using namespace sthash::test;

namespace {

constexpr double kThreshold = 0.61803398875;  // no ratio of small numbers is so near that rounding decides

// Sets that are often similar: copies of earlier ones, with some items changed.
std::vector<std::vector<uint64_t>> random_sets(size_t count) {
    std::vector<std::vector<uint64_t>> sets;
    for (size_t i = 0; i < count; ++i) {
        std::set<uint64_t> items;
        if (i > 0 && draw(2) == 0)
            for (const uint64_t item : sets[draw(i)])
                if (draw(8) != 0) items.insert(item);
        for (size_t more = draw(6); more > 0; --more) items.insert((1 + draw(200)) * 0x9E3779B97F4A7C15u);
        sets.emplace_back(items.begin(), items.end());
    }
    return sets;
}

size_t shared(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
    std::vector<uint64_t> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both.size();
}

double similarity(Measure measure, const std::vector<uint64_t>& left, const std::vector<uint64_t>& right) {
    const auto both = static_cast<double>(shared(left, right));
    if (both == 0) return 0;
    if (measure == Measure::containment) return both / static_cast<double>(left.size());
    if (measure == Measure::cosine) return both / std::sqrt(static_cast<double>(left.size() * right.size()));
    return both / (static_cast<double>(left.size() + right.size()) - both);
}

void check_pairs(Measure measure, size_t n, size_t first_query, int threads) {
    const auto sets = random_sets(n);
    std::vector<int64_t> bounds{0}, chosen;
    std::vector<uint64_t> items;
    std::vector<float> squares;
    for (const auto& set : sets) {
        chosen.push_back(static_cast<int64_t>(squares.size()));
        squares.push_back(static_cast<float>(set.size()));
        items.insert(items.end(), set.begin(), set.end());
        bounds.push_back(static_cast<int64_t>(items.size()));
    }
    StopFlag stop{false};
    const SharedColumns rows = shared_columns(bounds.data(), n, items.data(), threads, stop);
    std::map<uint64_t, size_t> counts;
    for (const uint64_t item : items) ++counts[item];
    for (size_t i = 0; i < n; ++i) {
        const auto kept =
            std::count_if(sets[i].begin(), sets[i].end(), [&](uint64_t item) { return counts[item] > 1; });
        check(rows.indptr[i + 1] - rows.indptr[i] == kept, "columns of sets");
    }
    const std::vector<float> ones(rows.columns.size(), 1.0f);
    SimilarityJoin join({csr_rows(rows.indptr.data(), rows.columns.data(), ones.data(), n, rows.n_columns),
                         chosen.data(), n, rows.n_columns, squares.data(), measure, kThreshold, first_query, n, n * n},
                        threads, stop);
    std::map<std::pair<int64_t, int64_t>, double> found, wanted;
    while (!join.done()) {
        const SimilarPairs pairs = join.next(stop);
        for (size_t at = 0; at < pairs.left.size(); ++at) found[{pairs.left[at], pairs.right[at]}] = pairs.scores[at];
    }
    for (size_t right = first_query; right < n; ++right)
        for (size_t left = 0; left < (measure == Measure::containment ? n : right); ++left) {
            if (left == right) continue;
            const bool inside = measure == Measure::containment;  // the later one in any other
            const auto a = static_cast<int64_t>(inside ? right : left), b = static_cast<int64_t>(inside ? left : right);
            const double score = similarity(measure, sets[static_cast<size_t>(a)], sets[static_cast<size_t>(b)]);
            if (score >= kThreshold) wanted[{a, b}] = score;
        }
    bool right = found.size() == wanted.size() && join.complete();
    for (const auto& [pair, score] : wanted)
        right = right && found.contains(pair) && std::abs(found[pair] - score) < 1e-6;
    check(right && (n < 50 || !wanted.empty()), "similar pairs");
}

void check_index(Measure measure, size_t n) {
    const auto sets = random_sets(n);
    SetIndex index(measure, kThreshold);
    for (size_t i = 0; i < n; ++i) {
        SetIndex::Match wanted;
        for (size_t j = 0; j < i; ++j) {
            const double score = similarity(measure, sets[i], sets[j]);
            if (score >= kThreshold && score > wanted.score) wanted = {static_cast<int64_t>(j), score};
        }
        const SetIndex::Match found = index.find(sets[i].data(), sets[i].size());
        check(found.set == wanted.set && found.score == wanted.score, "the most similar set");
        index.add(sets[i].data(), sets[i].size());
    }
    check(index.size() == n, "sets in the index");
}

void check_shingles(size_t size, int threads) {
    const size_t n = 600, vocabulary = 12;
    std::vector<uint64_t> hashes(vocabulary);
    for (uint64_t& hash : hashes) hash = generator();
    std::vector<int64_t> starts{0};
    std::vector<int32_t> words;
    for (size_t i = 0; i < n; ++i) {
        for (size_t more = draw(9); more > 0; --more) words.push_back(static_cast<int32_t>(draw(vocabulary)));
        starts.push_back(static_cast<int64_t>(words.size()));
    }
    StopFlag stop{false};
    const Sets sets = shingle_sets({starts.data(), words.data(), n}, hashes.data(), size, threads, stop);
    // Equal runs of words have equal hashes, and others do not.
    std::map<std::vector<int32_t>, uint64_t> hash_of;
    std::set<uint64_t> known;
    for (size_t i = 0; i < n; ++i) {
        std::set<std::vector<int32_t>> runs;
        const auto first = words.begin() + starts[i], last = words.begin() + starts[i + 1];
        const auto length = std::min<ptrdiff_t>(static_cast<ptrdiff_t>(size), last - first);
        if (length > 0)
            for (auto at = first; at + length <= last; ++at) runs.emplace(at, at + length);
        const auto begin = sets.items.begin() + sets.indptr[i], end = sets.items.begin() + sets.indptr[i + 1];
        check(static_cast<size_t>(end - begin) == runs.size() && std::is_sorted(begin, end), "shingles of a text");
        if (runs.size() == 1) {
            const auto [place, fresh] = hash_of.emplace(*runs.begin(), *begin);
            check(place->second == *begin && (!fresh || known.insert(*begin).second), "hashes of shingles");
        }
    }
}

}  // namespace

void test_join() {
    for (const Measure measure : {Measure::cosine, Measure::jaccard, Measure::containment}) {
        for (const size_t n : {size_t{1}, size_t{2}, size_t{80}, size_t{300}}) {
            check_pairs(measure, n, 0, 1);
            check_pairs(measure, n, n / 2, 3);
        }
        if (measure != Measure::cosine) check_index(measure, 300);
    }
    for (const size_t size : {size_t{1}, size_t{3}, size_t{20}}) check_shingles(size, 3);
}
