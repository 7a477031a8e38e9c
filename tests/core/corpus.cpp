// A fixed corpus on its whole way, from texts to codes to answers. What comes out is the same to the bit on every
// processor, SIMD path and compiler: it is compared with numbers that stand here. They change only if a change of the
// results is intended; a model file that was written before then gives other codes.
#include <cinttypes>
#include <cmath>
#include <numeric>

#include "check.hpp"
#include "graph/sparse_neighbors.hpp"
#include "hamming/checksum.hpp"
#include "hamming/index.hpp"
#include "projection/projection.hpp"
#include "ranking/reranking.hpp"
#include "svm/bank.hpp"
#include "text/counter.hpp"
#include "text/scanner.hpp"
#include "words/postings.hpp"

using namespace sthash;
using namespace sthash::text;
using namespace sthash::test;

namespace {

constexpr size_t kTexts = 400, kBits = 64;
constexpr int kThreads = 2;

template <class T>
void expect(const char* what, const std::vector<T>& values, uint64_t wanted) {
    const uint64_t found = hamming::Checksum::of(values.data(), values.size() * sizeof(T));
    if (found == wanted) return;
    std::fprintf(stderr, "%s: checksum 0x%016" PRIx64 " instead of 0x%016" PRIx64 "\n", what, found, wanted);
    fail("the fixed corpus");
}

// Words of eight topics, the first ones of each the most frequent.
std::vector<std::string> fixed_texts() {
    std::vector<std::string> texts;
    for (size_t i = 0; i < kTexts; ++i) {
        std::string text;
        const size_t topic = draw(8);
        for (size_t left = 5 + draw(60); left > 0; --left) {
            const size_t group = draw(3) == 0 ? draw(8) : topic;
            text += static_cast<char>((draw(5) == 0 ? 'A' : 'a') + group);
            for (size_t rank = 1 + draw(1 + draw(40)); rank > 0; rank /= 3) text += static_cast<char>('a' + rank % 3);
            text += draw(6) == 0 ? ", " : " ";
        }
        texts.push_back(text);
    }
    return texts;
}

std::vector<uint64_t> packed(const std::vector<float>& margins) {
    std::vector<uint64_t> codes(margins.size() / kBits);
    for (size_t at = 0; at < margins.size(); ++at)
        if (margins[at] > 0) codes[at / kBits] |= uint64_t{1} << (at % kBits);
    return codes;
}

CountRows counts_of(const std::vector<std::string>& texts, size_t& n_terms, StopFlag& stop) {
    std::vector<TextView> views;
    for (const std::string& text : texts) views.push_back({text.data(), text.size(), 1});
    WordTable table;
    const ScannedTexts scanned = scan_texts(views, table, 1, stop);  // threads renumber the words
    n_terms = table.size();
    std::vector<int32_t> term_of(n_terms);
    for (size_t i = 0; i < n_terms; ++i) term_of[i] = static_cast<int32_t>(i);
    return count_terms({scanned.starts.data(), scanned.words.data(), kTexts}, {term_of.data(), n_terms, n_terms},
                       kThreads, stop);
}

Rows unit_rows(const CountRows& counts) {
    Rows rows{counts.indptr, counts.indices, {}};
    for (size_t i = 0; i < kTexts; ++i) {
        double squares = 0;
        const auto begin = static_cast<size_t>(counts.indptr[i]), end = static_cast<size_t>(counts.indptr[i + 1]);
        for (size_t at = begin; at < end; ++at) squares += static_cast<double>(counts.counts[at]) * counts.counts[at];
        for (size_t at = begin; at < end; ++at)
            rows.values.push_back(static_cast<float>(counts.counts[at] / std::sqrt(squares)));
    }
    return rows;
}

// Learns to predict the sides of random hyperplanes, and gives the margins of all rows.
std::vector<float> learned_margins(const Rows& rows, size_t n_terms, StopFlag& stop) {
    const std::vector<float> sides = projection::scatter(rows.view(), kBits / 64, 7, kThreads, stop);
    expect("random hyperplanes", sides, 0x925cb737a9c4dc0e);
    std::vector<uint8_t> bits;
    for (const float side : sides) bits.push_back(side > 0);
    const std::vector<float> inverse_curvature(kTexts, 1 / 2.5f), diagonal(kTexts, 0.5f), upper(kTexts, INFINITY);
    const svm::Terms terms{inverse_curvature.data(), diagonal.data(), upper.data(), 1};
    Progress progress;
    const svm::Solution bank =
        svm::solve_bank({rows.view(), n_terms, kBits, bits.data(), terms, 0.1, 30, 3}, kThreads, stop, progress);
    expect("weights of the machines", bank.weights, 0xd794486a7d51e7ac);
    std::vector<float> margins =
        projection::project(rows.view(), {bank.weights.data(), static_cast<ptrdiff_t>(kBits)}, kThreads, stop);
    for (size_t at = 0; at < margins.size(); ++at) margins[at] += bank.intercepts[at % kBits];
    return margins;
}

void check_codes(const std::vector<float>& margins, StopFlag& stop) {
    const std::vector<uint64_t> codes = packed(margins);
    expect("codes", codes, 0x467d5fddb708898d);
    hamming::Index index(static_cast<int>(kBits), hamming::Strategy::automatic);
    index.add(codes.data(), nullptr, kTexts);
    std::vector<int64_t> found;
    const hamming::Request request{
        hamming::Task::nearest,      10, static_cast<int>(kBits), codes.data(), kTexts, kThreads,
        hamming::Strategy::automatic};
    std::vector<std::vector<int64_t>> lists(kTexts);
    index.search(request, std::nullopt, stop, [&](size_t q, hamming::Collector& collector) {
        for (const hamming::Hit& hit : collector.finish()) lists[q].insert(lists[q].end(), {hit.id, hit.distance});
    });
    for (const auto& list : lists) found.insert(found.end(), list.begin(), list.end());
    expect("nearest codes", found, 0x076115bc7ef52f38);

    std::vector<float> weights;
    for (const float margin : margins) weights.push_back(std::abs(margin));
    std::vector<std::vector<float>> distances(kTexts);
    index.search(
        hamming::weighted::Request{10, static_cast<int>(kBits), codes.data(), weights.data(), kTexts, kThreads},
        std::nullopt, stop, [&](size_t q, hamming::weighted::Collector& collector) {
            for (const auto& hit : collector.finish()) distances[q].push_back(hit.distance);
        });
    std::vector<float> flat;
    for (const auto& list : distances) flat.insert(flat.end(), list.begin(), list.end());
    expect("weighted distances", flat, 0xece9578be1243ddd);
}

void check_search(const CountRows& counts, const Rows& rows, size_t n_terms, StopFlag& stop) {
    std::vector<int64_t> ids;
    std::vector<int32_t> lengths;
    for (size_t i = 0; i < kTexts; ++i) {
        ids.push_back(static_cast<int64_t>(i));
        lengths.push_back(
            std::accumulate(counts.counts.begin() + counts.indptr[i], counts.counts.begin() + counts.indptr[i + 1], 0));
    }
    words::PostingLists lists(ids, lengths);
    for (size_t column = 0; column < n_terms; ++column) lists.put(static_cast<int32_t>(column), {});
    lists.put_counts({counts.indptr.data(), counts.indices.data(), counts.counts.data(), kTexts, counts.indices.size()},
                     ids.data());
    constexpr size_t k = 50;
    const words::BestDocuments best =
        lists.search({rows.indptr.data(), rows.indices.data(), rows.values.data(), kTexts, rows.indices.size()},
                     {1.2, 0.75, 30}, k, {}, kThreads, stop);
    expect("documents found", best.positions, 0x84f7310f6de6597c);
    expect("scores by BM25", best.scores, 0x28d6851702cc1f1a);
    const ranking::RerankedHits reranked =
        ranking::rerank(rows.view(), {best.positions.data(), best.scores.data(), kTexts, k}, {30, 10, 10, 0.3, 0.2}, 10,
                        kThreads, stop);
    expect("re-ranked documents", reranked.places, 0x4d5a17c7700df4d1);
    expect("re-ranked scores", reranked.scores, 0xf87716404f701faf);
}

}  // namespace

void test_corpus() {
    StopFlag stop{false};
    size_t n_terms = 0;
    const CountRows counts = counts_of(fixed_texts(), n_terms, stop);
    expect("term counts", counts.counts, 0xa3411cd52c2d3f65);
    const Rows rows = unit_rows(counts);
    expect("unit rows", rows.values, 0x5d5dd98208383e7a);
    const std::vector<float> no_penalty(kTexts);
    const graph::NeighborLists graph =
        graph::sparse_neighbors({rows.view(), n_terms, no_penalty.data(), 0.1}, 10, kThreads, stop);
    expect("neighbors", graph.rows, 0xba03c5bdb1198977);
    expect("cosines", graph.scores, 0xb8179ec52aa599cc);
    check_codes(learned_margins(rows, n_terms, stop), stop);
    check_search(counts, rows, n_terms, stop);
}
