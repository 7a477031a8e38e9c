// Forms: what stands in a text, as it was written, beside the stems that words are searched by.
//
// A form is a word in lower case, stop words included; the same without accents; a name as people write it (is_dir,
// os.path.join, CVE-2021-44228, c++) or a compound, which prose has too (well-known, 1.5); and the parts of a word with
// capitals inside (RunUntilComplete has "run", "until" and "complete"). The stem of a word in the head of a text, which
// is its title or its first sentence, is one more form. A form is known by a hash only, as a column behind those of all
// terms: what two forms share a column for is a hit too many, which others outrank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "text/text_view.hpp"

namespace sthash::text {

constexpr int kFormBits = 30;
constexpr int32_t kFirstForm = int32_t{1} << kFormBits;

// Which words are forms. Where no stemmer changes words, and in unspaced scripts, only those that no term stands for.
struct FormOptions {
    bool stemmed = true;
    std::span<const int32_t> stop_words;  // columns of their forms, ascending
};

// The forms of texts: the parts of a CSR matrix of counts, columns ascending.
struct FormRows {
    std::vector<int64_t> indptr;
    std::vector<int32_t> columns;
    std::vector<int32_t> counts;
};

// The head of a text: its first line with a letter or digit or, if that is the only one or has more than 250
// characters, its first sentence. Empty if this has more than 250 characters, too, or if no more follows than it has.
TextView head_of(const TextView& text);

// The column of a stem in a head.
int32_t head_column(const TextView& stem);

// Columns of the words in the heads of texts: text i has columns[indptr[i]:indptr[i + 1]]. The caller owns the arrays.
struct HeadsView {
    const int64_t* indptr = nullptr;  // null if there are none
    const int32_t* columns = nullptr;
};

// Empty after a stop.
FormRows count_forms(const std::vector<TextView>& texts, const HeadsView& heads, const FormOptions& options,
                     int threads, StopFlag& stop);

// A form of a query.
struct Form {
    enum Kind : int32_t { word = 0, plain = 1, name = 2, part = 3, compound = 4 };
    Kind kind;
    int32_t column;
};

// The forms of one text in reading order, all of its words among them.
std::vector<Form> forms_of(const TextView& text);

}  // namespace sthash::text
