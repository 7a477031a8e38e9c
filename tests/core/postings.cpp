// The search in postings by BM25.
#include "collection/postings.hpp"

#include <algorithm>
#include <map>

#include "check.hpp"

using namespace sthash;
using namespace sthash::test;

namespace {

struct Document {
    int64_t id;
    std::map<int32_t, int32_t> counts;
    int32_t length = 0;
};

struct Term {
    int32_t column;
    float weight;
};

// As many ids as there are windows for, some of them missing; some columns are in most documents, others in few.
std::vector<Document> random_documents(size_t count, int32_t columns) {
    std::vector<Document> documents;
    int64_t id = 0;
    for (size_t i = 0; i < count; ++i) {
        id += 1 + static_cast<int64_t>(draw(2));
        Document document{id, {}, 0};
        for (int32_t column = 0; column < columns; ++column)
            if (draw(static_cast<size_t>(1) << (column / 2)) == 0)
                document.counts[column] = 1 + static_cast<int32_t>(draw(draw(20) == 0 ? 400 : 3));
        for (const auto& [column, times] : document.counts) document.length += times;
        documents.push_back(std::move(document));
    }
    return documents;
}

struct PackedDocuments {
    std::vector<int64_t> ids, indptr{0};
    std::vector<int32_t> columns, counts, lengths;

    explicit PackedDocuments(const std::vector<Document>& documents) {
        for (const Document& document : documents) {
            ids.push_back(document.id);
            lengths.push_back(document.length);
            for (const auto& [column, times] : document.counts) {
                columns.push_back(column);
                counts.push_back(times);
            }
            indptr.push_back(static_cast<int64_t>(columns.size()));
        }
    }
    CountsView view() const { return {indptr.data(), columns.data(), counts.data(), ids.size(), columns.size()}; }
};

// Every document's score: the terms by falling weight, then by column; floats as the header promises.
std::vector<std::pair<float, int64_t>> plain_scores(const std::vector<Document>& documents, std::vector<Term> terms,
                                                    const Bm25& scoring, const std::vector<uint8_t>& allowed) {
    std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
        return a.weight != b.weight ? a.weight > b.weight : a.column < b.column;
    });
    std::vector<std::pair<float, int64_t>> scores;
    const double base = scoring.k1 * (1 - scoring.b), per_word = scoring.k1 * scoring.b / scoring.mean_length;
    for (size_t i = 0; i < documents.size(); ++i) {
        float sum = 0;
        for (const Term& term : terms) {
            const auto found = documents[i].counts.find(term.column);
            if (found == documents[i].counts.end()) continue;
            const double count = found->second;
            const double impact = count * (scoring.k1 + 1) / (count + base + per_word * documents[i].length);
            const float product = term.weight * static_cast<float>(impact);
            sum += product;
        }
        if (sum > 0 && (allowed.empty() || allowed[i] != 0)) scores.push_back({-sum, static_cast<int64_t>(i)});
    }
    std::sort(scores.begin(), scores.end());
    return scores;
}

void check_search(size_t count, int threads) {
    constexpr int32_t columns = 16;
    const std::vector<Document> documents = random_documents(count, columns);
    const PackedDocuments packed(documents);
    StopFlag stop{false};
    // The last documents come as counts, the others as packed lists.
    const size_t early = count - count / 10;
    const PackedDocuments first({documents.begin(), documents.begin() + static_cast<ptrdiff_t>(early)});
    const PackedDocuments last({documents.begin() + static_cast<ptrdiff_t>(early), documents.end()});
    const PackedPostings postings = pack_postings(first.view(), first.ids.data(), columns, threads, stop);
    PostingLists lists(packed.ids, packed.lengths);
    for (int32_t column = 0; column < columns; ++column) {
        std::vector<std::span<const uint8_t>> parts;
        for (size_t i = 0; i < postings.columns.size(); ++i)
            if (postings.columns[i] == column)
                parts.push_back({postings.lists.content.data() + postings.lists.offsets[i],
                                 postings.lists.content.data() + postings.lists.offsets[i + 1]});
        lists.put(column, parts);
    }
    lists.put_counts(last.view(), last.ids.data());

    const Bm25 scoring{1.5, 0.75, 12};
    constexpr size_t queries = 20;
    std::vector<std::vector<Term>> terms(queries);
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> query_columns;
    std::vector<float> weights;
    for (std::vector<Term>& of_query : terms) {
        for (int32_t column = 0; column < columns; ++column)
            if (draw(4) == 0) of_query.push_back({column, static_cast<float>(1 + draw(900)) / 100});
        for (const Term& term : of_query) {
            query_columns.push_back(term.column);
            weights.push_back(term.weight);
        }
        indptr.push_back(static_cast<int64_t>(query_columns.size()));
    }
    std::vector<uint8_t> some(count);
    for (uint8_t& byte : some) byte = draw(3) > 0;
    for (const size_t k : {size_t{1}, size_t{10}, size_t{600}})
        for (const std::vector<uint8_t>& allowed : {std::vector<uint8_t>{}, some}) {
            const BestDocuments best =
                lists.search({indptr.data(), query_columns.data(), weights.data(), queries, weights.size()}, scoring, k,
                             allowed.empty() ? nullptr : allowed.data(), threads, stop);
            for (size_t q = 0; q < queries; ++q) {
                const auto wanted = plain_scores(documents, terms[q], scoring, allowed);
                for (size_t rank = 0; rank < k; ++rank) {
                    const bool there = rank < wanted.size();
                    check(best.positions[q * k + rank] == (there ? wanted[rank].second : -1) &&
                              best.scores[q * k + rank] == (there ? -wanted[rank].first : 0.0f),
                          "search in postings");
                }
            }
        }
}

}  // namespace

void test_postings() {
    check_search(1, 1);
    check_search(300, 1);
    check_search(9000, 2);
}
