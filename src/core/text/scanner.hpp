// From texts to words: finds the words of each text and gives every distinct word a number.
//
// A word starts with a letter or a number of any script and goes on through letters, numbers and combining marks; it is
// lower-cased character by character; the final sigma becomes the usual one. Soft hyphens and joiners are skipped. A
// run of letters of unspaced scripts, each with its marks, becomes overlapping pairs: neighbors two by two, or the
// letter itself if it stands alone.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "text/text_view.hpp"
#include "text/word_table.hpp"

namespace sthash::text {

// For each text, the numbers of its words in reading order: text i owns words[starts[i]:starts[i + 1]].
struct ScannedTexts {
    std::vector<int64_t> starts;
    std::vector<int32_t> words;
};

// Scans the texts on several threads and adds the words that `table` lacks to it. After a stop the table is as it was,
// and the result is empty.
ScannedTexts scan_texts(const std::vector<TextView>& texts, WordTable& table, int threads, StopFlag& stop);

}  // namespace sthash::text
