// Balls ranked by cosine, pairs, and re-ranking by neighbors.
#include "ranking/ranking.hpp"

#include <algorithm>
#include <bit>

#include "check.hpp"
#include "ranking/reranking.hpp"

using namespace sthash;
using namespace sthash::ranking;
using namespace sthash::test;

namespace {

constexpr size_t kColumns = 60;

// Documents from the last to the first, as some rows of others may be, and once more with their zeros.
struct Documents {
    std::vector<int32_t> columns;
    std::vector<float> values, full;
    std::vector<int64_t> starts, ends;

    explicit Documents(const Rows& rows)
        : full((rows.indptr.size() - 1) * kColumns), starts(rows.indptr.size() - 1), ends(rows.indptr.size() - 1) {
        for (size_t i = starts.size(); i-- > 0;) {
            const SparseRow row = rows.view().row(i);
            starts[i] = static_cast<int64_t>(columns.size());
            columns.insert(columns.end(), row.indices, row.indices + row.size);
            values.insert(values.end(), row.values, row.values + row.size);
            for (ptrdiff_t at = 0; at < row.size; ++at)
                full[i * kColumns + static_cast<size_t>(row.indices[at])] = row.values[at];
            ends[i] = static_cast<int64_t>(columns.size());
        }
    }
    RowsView view() const {
        return {starts.data(), ends.data(), columns.data(), values.data(), starts.size(), kColumns, false};
    }
    float product(size_t a, size_t b) const {  // in the order of the columns, as the kernels do
        float sum = 0;
        for (size_t c = 0; c < kColumns; ++c) sum += full[a * kColumns + c] * full[b * kColumns + c];
        return sum;
    }
};

void check_balls(int n_bits, int threads) {
    const size_t n = 500, queries = 20, k = 10, words = (static_cast<size_t>(n_bits) + 63) / 64;
    const Rows rows = random_rows(n, kColumns, 10, false);
    const Documents documents(rows);
    const std::vector<uint64_t> codes = random_codes(n, n_bits);
    const int radius = n_bits / 5;
    StopFlag stop{false};
    // The first documents are the queries.
    Rows asked = rows;
    asked.indptr.resize(queries + 1);
    const RankedBalls answers =
        search_balls({codes.data(), words, n}, documents.view(), {{codes.data(), words, queries}, nullptr, 0},
                     asked.view(), {radius, 0}, k, threads, stop);
    for (size_t q = 0; q < queries; ++q) {
        std::vector<std::pair<float, int64_t>> inside;
        std::vector<int> distances(n);
        for (size_t i = 0; i < n; ++i) {
            for (size_t w = 0; w < words; ++w)
                distances[i] += std::popcount(codes[i * words + w] ^ codes[q * words + w]);
            if (distances[i] <= radius) inside.push_back({-documents.product(q, i), static_cast<int64_t>(i)});
        }
        std::sort(inside.begin(), inside.end());
        bool right = answers.candidates[q] == static_cast<int64_t>(inside.size());
        for (size_t rank = 0; rank < k; ++rank) {
            const size_t at = q * k + rank;
            if (rank < inside.size())
                right = right && answers.places[at] == inside[rank].second &&
                        answers.scores[at] == -inside[rank].first &&
                        answers.distances[at] == distances[static_cast<size_t>(inside[rank].second)];
            else
                right = right && answers.places[at] == -1 && answers.distances[at] == -1;
        }
        check(right, "ranked balls");
    }
    std::vector<int64_t> left, others;
    for (int i = 0; i < 300; ++i) {
        left.push_back(static_cast<int64_t>(draw(n)));
        others.push_back(static_cast<int64_t>(draw(n)));
    }
    const std::vector<float> scores =
        pair_scores(documents.view(), {left.data(), others.data(), left.size()}, threads, stop);
    for (size_t i = 0; i < left.size(); ++i)
        check(scores[i] == documents.product(static_cast<size_t>(left[i]), static_cast<size_t>(others[i])),
              "pair scores");
}

// The formula of reranking.hpp, hit by hit.
std::vector<std::pair<double, int64_t>> plain_reranking(const Documents& documents, const std::vector<int64_t>& places,
                                                        const std::vector<float>& scores, const Reranking& how) {
    const size_t count = places.size(), seeds = std::min(how.seeds, count),
                 first = std::min(how.feedback_documents, seeds);
    const auto cosine = [&](size_t a, size_t b) {
        return documents.product(static_cast<size_t>(places[a]), static_cast<size_t>(places[b]));
    };
    std::vector<double> smooth(count), likeness(count);
    double most = 0;
    for (size_t hit = 0; hit < count; ++hit) {
        std::vector<std::pair<float, size_t>> near;
        double weights = 0, sum = 0;
        for (size_t seed = 0; seed < seeds; ++seed)
            if (seed != hit && cosine(hit, seed) > 0) near.push_back({-cosine(hit, seed), seed});
        std::sort(near.begin(), near.end());
        near.resize(std::min(near.size(), how.neighbors));
        for (const auto& [negated, seed] : near) {
            weights -= negated;
            sum -= static_cast<double>(negated) * scores[seed];
        }
        const double around = weights > 0 ? sum / weights : scores[hit];
        smooth[hit] = (1 - how.smoothing) * scores[hit] + how.smoothing * around;
        weights = sum = 0;
        for (size_t one = 0; one < first; ++one) {
            if (one == hit) continue;
            weights += scores[one];
            sum += static_cast<double>(scores[one]) * cosine(hit, one);
        }
        likeness[hit] = weights > 0 ? sum / weights : 0;
        if (hit < seeds) most = std::max(most, likeness[hit]);
    }
    std::vector<std::pair<double, int64_t>> ranked;
    for (size_t hit = 0; hit < count; ++hit) {
        double score = smooth[hit];
        if (most > 0) score = (1 - how.feedback) * score + how.feedback * (scores[0] * (likeness[hit] / most));
        ranked.push_back({-score, places[hit]});
    }
    std::sort(ranked.begin(), ranked.end());
    return ranked;
}

void check_reranking(size_t width, int threads) {
    Rows rows = random_rows(200, kColumns, 10, false);
    for (size_t i = 0; i + 1 < rows.indptr.size(); ++i) {
        float squares = 0;
        for (auto at = static_cast<size_t>(rows.indptr[i]); at < static_cast<size_t>(rows.indptr[i + 1]); ++at)
            squares += rows.values[at] * rows.values[at];
        for (auto at = static_cast<size_t>(rows.indptr[i]); at < static_cast<size_t>(rows.indptr[i + 1]); ++at)
            rows.values[at] /= std::sqrt(squares);
    }
    const Documents documents(rows);
    const size_t queries = 20, k = 15;
    const Reranking how{30, 5, 7, 0.3, 0.2};
    std::vector<int64_t> places(queries * width, -1);
    std::vector<float> scores(queries * width);
    for (size_t q = 0; q < queries; ++q) {
        float score = 20;
        const size_t count = q == 0 ? width : draw(width + 1);
        for (size_t hit = 0; hit < count; ++hit) {
            places[q * width + hit] = static_cast<int64_t>((hit * 37 + q * 11) % 200);
            scores[q * width + hit] = score -= static_cast<float>(draw(100)) / 1000;
        }
    }
    StopFlag stop{false};
    const RerankedHits answer =
        rerank(documents.view(), {places.data(), scores.data(), queries, width}, how, k, threads, stop);
    for (size_t q = 0; q < queries; ++q) {
        const auto begin = static_cast<ptrdiff_t>(q * width);
        const auto end = std::find(places.begin() + begin, places.begin() + begin + static_cast<ptrdiff_t>(width), -1);
        const std::vector<int64_t> own(places.begin() + begin, end);
        const std::vector<float> of_own(scores.begin() + begin,
                                        scores.begin() + begin + static_cast<ptrdiff_t>(own.size()));
        const auto wanted = plain_reranking(documents, own, of_own, how);
        for (size_t rank = 0; rank < k; ++rank) {
            const bool there = rank < wanted.size();
            check((answer.places[q * k + rank] >= 0) == there, "number of re-ranked hits");
            // The sums are made in another order, so hits whose scores are this close may change places.
            if (there) check(std::abs(answer.scores[q * k + rank] + wanted[rank].first) < 1e-4, "re-ranked scores");
        }
    }
}

}  // namespace

void test_ranking() {
    for (const int n_bits : {16, 64, 128, 200}) check_balls(n_bits, n_bits > 64 ? 3 : 1);
    for (const size_t width : {size_t{1}, size_t{20}, size_t{100}}) check_reranking(width, width > 20 ? 3 : 1);
}
