// Forms: what stands in a text, as it was written, beside the stems that words are searched by.
//
// A form is a word in lower case, stop words included; the same without accents; a name as people write it (is_dir,
// os.path.join, CVE-2021-44228, c++) or a compound, which prose has too (well-known, 1.5); and the parts of a word with
// capitals inside (RunUntilComplete has "run", "until" and "complete"). A word in the head of a text, which is its title or
// its first sentence, is one more form. A form is known by a hash only, as a column behind those of all terms: what two
// forms share a column for is a hit too many, which others outrank.
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

// The head of a text: its first line with a letter or digit or, if there is one line only, its first sentence. Empty if
// it has more than 250 characters, or no more follows than it has.
TextView head_of(const TextView& text);

// Text i has the head of wholes[i], which is the same text or what it is cut out of. Empty after a stop.
FormRows count_forms(const std::vector<TextView>& texts, const std::vector<TextView>& wholes,
                     const FormOptions& options, int threads, StopFlag& stop);

// A form of a query.
struct Form {
    enum Kind : int32_t { word = 0, plain = 1, name = 2, part = 3, compound = 4, head = 5 };
    Kind kind;
    int32_t column;
};

// The forms of one text in reading order, all of its words among them. After each word comes what it is in a head.
std::vector<Form> forms_of(const TextView& text);

}  // namespace sthash::text
