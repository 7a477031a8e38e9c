// The search in postings by BM25, among documents that come and go.
#include "words/postings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <thread>

#include "check.hpp"

using namespace sthash;
using namespace sthash::words;
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

// Documents with ids above a given one, some ids missing; some columns are in most documents, others in few.
std::vector<Document> random_documents(size_t count, int32_t columns, int64_t id = 0) {
    std::vector<Document> documents;
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

// Every document's score: the terms by falling weight, then as given; floats as the header promises. Equal scores come
// by rank, or by position if there are no ranks.
std::vector<std::pair<float, int64_t>> plain_scores(const std::vector<Document>& documents, std::vector<Term> terms,
                                                    const Bm25& scoring, const std::vector<uint8_t>& allowed,
                                                    const std::vector<uint32_t>& ranks = {}) {
    std::ranges::stable_sort(terms, std::greater<>(), &Term::weight);
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
        const auto place = static_cast<int64_t>(ranks.empty() ? i : ranks[i]);
        if (sum > 0 && (allowed.empty() || allowed[i] != 0)) scores.push_back({-sum, place});
    }
    std::sort(scores.begin(), scores.end());
    return scores;
}

struct Queries {
    std::vector<std::vector<Term>> terms;
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> columns;
    std::vector<float> weights;

    Queries(size_t count, int32_t n_columns) : terms(count) {
        for (std::vector<Term>& of_query : terms) {
            for (int32_t column = 0; column < n_columns; ++column)
                if (draw(4) == 0) of_query.push_back({column, static_cast<float>(1 + draw(900)) / 100});
            for (const Term& term : of_query) {
                columns.push_back(term.column);
                weights.push_back(term.weight);
            }
            indptr.push_back(static_cast<int64_t>(columns.size()));
        }
    }
    QueriesView view() const { return {indptr.data(), columns.data(), weights.data(), terms.size(), weights.size()}; }
};

// Compares a search with the plain scores.
void check_answers(PostingLists& lists, const std::vector<Document>& documents, const Queries& queries, size_t k,
                   const std::vector<uint8_t>& allowed, const std::vector<uint8_t>& expected,
                   const std::vector<uint32_t>& ranks, int threads) {
    const Bm25 scoring{1.5, 0.75, 12};
    StopFlag stop{false};
    Selection selection;
    if (!allowed.empty()) selection.allowed = allowed;
    if (!ranks.empty()) selection.ranks = ranks;
    const BestDocuments best = lists.search(queries.view(), scoring, k, selection, threads, stop);
    for (size_t q = 0; q < queries.terms.size(); ++q) {
        const auto wanted = plain_scores(documents, queries.terms[q], scoring, expected, ranks);
        for (size_t rank = 0; rank < k; ++rank) {
            const bool there = rank < wanted.size();
            check(best.positions[q * k + rank] == (there ? wanted[rank].second : -1) &&
                      best.scores[q * k + rank] == (there ? -wanted[rank].first : 0.0f),
                  "search in postings");
        }
    }
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

    const Queries queries(20, columns);
    std::vector<uint8_t> some(count);
    for (uint8_t& byte : some) byte = draw(3) > 0;
    std::vector<uint32_t> ranks(count);
    for (size_t i = 0; i < count; ++i) ranks[i] = static_cast<uint32_t>(count - i);
    for (const size_t k : {size_t{1}, size_t{10}, size_t{600}})
        for (const std::vector<uint8_t>& allowed : {std::vector<uint8_t>{}, some}) {
            check_answers(lists, documents, queries, k, allowed, allowed, {}, threads);
            check_answers(lists, documents, queries, k, allowed, allowed, ranks, threads);
        }
}

// Documents that are alike, so that many scores are equal, in an order of their own.
void check_ranks() {
    std::vector<Document> documents;
    std::vector<uint32_t> ranks;
    for (int64_t id = 0; id < 6000; ++id) {
        documents.push_back({id, {{0, 1 + static_cast<int32_t>(draw(3))}, {1, 1}}, 5});
        ranks.push_back(static_cast<uint32_t>(id * 7919 % 6000));
    }
    const PackedDocuments packed(documents);
    PostingLists lists({}, {});
    lists.add(packed.view(), packed.ids, packed.lengths);
    for (int32_t column = 0; column < 4; ++column) lists.put(column, {});
    for (const size_t k : {size_t{3}, size_t{400}})
        check_answers(lists, documents, Queries(20, 4), k, {}, {}, ranks, 1);
}

// Documents come and go, whole lists are written and read again; what is found is as if they had never been others.
void check_changes(size_t most, int threads) {
    constexpr int32_t columns = 12;
    std::vector<Document> documents;  // by position
    std::vector<uint8_t> live;
    PostingLists lists({}, {});
    const auto live_count = [&] { return static_cast<size_t>(std::ranges::count(live, 1)); };
    int64_t id = 0;
    for (int round = 0; round < 60; ++round) {
        const size_t choice = draw(10);
        if (choice < 4) {
            const std::vector<Document> more = random_documents(draw(most), columns, id);
            const PackedDocuments packed(more);
            lists.add(packed.view(), packed.ids, packed.lengths);
            documents.insert(documents.end(), more.begin(), more.end());
            live.resize(documents.size(), 1);
            if (!more.empty()) id = more.back().id;
        } else if (choice < 7) {
            std::vector<int32_t> positions;
            const size_t share = 2 + draw(40);
            for (size_t position = 0; position < live.size(); ++position)
                if (live[position] != 0 && draw(share) == 0) positions.push_back(static_cast<int32_t>(position));
            lists.remove(positions);
            for (int32_t position : positions) live[static_cast<size_t>(position)] = 0;
        } else if (choice == 7) {
            const std::vector<int32_t> kept = lists.compact();
            std::vector<Document> left;
            for (int32_t position : kept) {
                check(live[static_cast<size_t>(position)] != 0, "compaction keeps a removed document");
                left.push_back(documents[static_cast<size_t>(position)]);
            }
            check(kept.size() == live_count(), "compaction loses a document");
            documents.swap(left);
            live.assign(documents.size(), 1);
        } else {
            for (int32_t column = 0; column < columns; ++column)
                if (draw(3) == 0) lists.put(column, {});
        }
        check(lists.n_documents() == documents.size() && lists.live() == live_count(), "number of documents");
        if (round % 4 != 0) continue;
        for (int32_t column = 0; column < columns; ++column) {
            lists.put(column, {});
            std::vector<int32_t> positions;
            for (size_t position = 0; position < documents.size(); ++position)
                if (live[position] != 0 && documents[position].counts.contains(column))
                    positions.push_back(static_cast<int32_t>(position));
            check(lists.positions(column) == positions, "positions of a column");
            check(lists.document_frequencies({&column, 1}).front() == static_cast<int32_t>(positions.size()),
                  "document frequency");
        }
        std::vector<uint8_t> some(documents.size()), both(documents.size());
        for (size_t i = 0; i < some.size(); ++i) both[i] = (some[i] = draw(2) == 0) && live[i] != 0;
        const Queries queries(6, columns);
        check_answers(lists, documents, queries, 20, {}, live, {}, threads);
        check_answers(lists, documents, queries, 20, some, both, {}, threads);

        const PackedPostings packed = lists.pack();
        PostingLists again(lists.ids(), lists.lengths());
        again.load({packed.columns.data(),
                    {packed.lists.content.data(), packed.lists.content.size(), packed.lists.offsets.data(),
                     packed.columns.size()}});
        const PackedPostings twice = again.pack();
        check(twice.columns == packed.columns && twice.lists.content == packed.lists.content &&
                  twice.lists.offsets == packed.lists.offsets && again.n_words() == lists.n_words(),
              "lists that were written and read");
    }
}

// Some threads search while one adds and removes.
void check_threads() {
    constexpr int32_t columns = 8;
    PostingLists lists({}, {});
    for (int32_t column = 0; column < columns; column += 2) lists.put(column, {});
    std::atomic<bool> done{false};
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 3; ++reader)
        readers.emplace_back([&, reader] {
            const std::vector<int32_t> all{0, 1, 2, 3, 4, 5, 6, 7};
            const std::vector<float> weights(all.size(), 1.0f);
            const std::vector<int64_t> indptr{0, columns};
            StopFlag stop{false};
            for (double mean = 1; !done.load(); mean += 1) {
                for (int32_t column : all) lists.put(column, {});
                lists.search({indptr.data(), all.data(), weights.data(), 1, all.size()}, {1.2, 0.6, mean}, 10, {}, 1,
                             stop);
                lists.document_frequencies(all);
                if (reader == 0) lists.pack();
            }
        });
    int64_t id = 0;
    for (int round = 0; round < 40; ++round) {
        const PackedDocuments packed(random_documents(200, columns, id));
        lists.add(packed.view(), packed.ids, packed.lengths);
        id = packed.ids.back();
        std::vector<int32_t> positions;
        for (size_t position = lists.n_documents() - 100; position < lists.n_documents(); ++position)
            positions.push_back(static_cast<int32_t>(position));
        lists.remove(positions);
        if (round % 5 == 4) lists.compact();
    }
    done.store(true);
    for (std::thread& reader : readers) reader.join();
    check(lists.live() == 40 * 100 && lists.n_documents() == 40 * 100, "documents after changes by threads");
}

}  // namespace

void test_postings() {
    check_search(1, 1);
    check_search(300, 1);
    check_search(9000, 2);
    check_ranks();
    check_changes(60, 1);
    check_changes(1500, 2);
    check_threads();
}
