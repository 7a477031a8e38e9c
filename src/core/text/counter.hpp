// From words to term counts: the rows of a sparse matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace sthash::text {

// Words of texts: text i has words[starts[i]:starts[i + 1]]. The caller owns both arrays.
struct WordsView {
    const int64_t* starts;  // n_texts + 1
    const int32_t* words;
    size_t n_texts;
};

// Which term a word counts for. The caller owns the array.
struct TermsView {
    const int32_t* term_of;  // one entry per word of the table: a term below n_terms, or -1 for none
    size_t n_words;
    size_t n_terms;
};

// Compressed sparse rows, one per text; columns ascend in each.
struct CountRows {
    std::vector<int64_t> indptr;
    std::vector<int32_t> indices;
    std::vector<int32_t> counts;
};

// Throws std::invalid_argument at a word or a term that is not there.
CountRows count_terms(const WordsView& texts, const TermsView& terms, int threads, StopFlag& stop);

}  // namespace sthash::text
