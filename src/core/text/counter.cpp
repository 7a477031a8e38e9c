#include "text/counter.hpp"

#include <algorithm>
#include <stdexcept>

namespace sthash::text {

CountRows count_terms(const WordsView& texts, const TermsView& terms, int threads, StopFlag& stop) {
    const size_t n_texts = texts.n_texts;
    constexpr size_t kGrain = 64;
    CountRows rows;
    rows.indptr.assign(n_texts + 1, 0);
    std::vector<CountRows> pieces((n_texts + kGrain - 1) / kGrain);
    std::vector<std::vector<int32_t>> scratch(std::max(threads, 1));
    parallel_for(n_texts, kGrain, threads, stop, [&](size_t begin, size_t end, int thread) {
        std::vector<int32_t>& count = scratch[thread];
        count.resize(terms.n_terms, 0);
        CountRows& piece = pieces[begin / kGrain];
        for (size_t i = begin; i < end; ++i) {
            const size_t first = piece.indices.size();
            for (int64_t at = texts.starts[i]; at < texts.starts[i + 1]; ++at) {
                const auto word = static_cast<uint32_t>(texts.words[at]);
                if (word >= terms.n_words) throw std::invalid_argument("A word has no entry. Give one per word.");
                const int32_t term = terms.term_of[word];
                if (term >= 0 && static_cast<size_t>(term) >= terms.n_terms)
                    throw std::invalid_argument("A term has no column. Raise n_terms.");
                if (term >= 0 && count[term]++ == 0) piece.indices.push_back(term);
            }
            std::sort(piece.indices.begin() + first, piece.indices.end());
            for (size_t at = first; at < piece.indices.size(); ++at) {
                piece.counts.push_back(count[piece.indices[at]]);
                count[piece.indices[at]] = 0;
            }
            rows.indptr[i + 1] = static_cast<int64_t>(piece.indices.size() - first);
        }
    });
    for (size_t i = 0; i < n_texts; ++i) rows.indptr[i + 1] += rows.indptr[i];
    rows.indices.reserve(rows.indptr.back());
    rows.counts.reserve(rows.indptr.back());
    for (const CountRows& piece : pieces) {
        rows.indices.insert(rows.indices.end(), piece.indices.begin(), piece.indices.end());
        rows.counts.insert(rows.counts.end(), piece.counts.begin(), piece.counts.end());
    }
    return rows;
}

}  // namespace sthash::text
