// How texts are worded, as sets that can be compared: pairs of neighboring words, and runs of characters where there
// are few words; and whether two texts differ only in words that decide what they say.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "text/text_view.hpp"

namespace sthash::join {

// Text i has two sets, 2 * i of its pairs of words and 2 * i + 1 of its runs of characters; each ascends and has items
// [indptr[set], indptr[set + 1]). A text of few words has no pairs, one of many words no runs, and in between it has
// both, so that any two texts of similar length can be compared. One item of a set stands for the text as a whole: only
// texts with the same words in the same order have equal sets.
//
// The marks of text i are the words that decide what it says, [marks_indptr[i], marks_indptr[i + 1]): first the
// number of all words and a hash of the last one, then numbers, negations, names and, of short texts, all other words, ascending.
//
// Texts are compared by Jaccard as if all of them had a few more items, so that a single word of a short text does not
// weigh too much: so many in sets of pairs, and so many in sets of runs.
inline constexpr double kCommonPairs = 7, kCommonRuns = 10;

struct Wording {
    std::vector<int64_t> indptr;
    std::vector<uint64_t> items;
    std::vector<int64_t> marks_indptr;
    std::vector<uint64_t> marks;
};

Wording wording_of(const std::vector<text::TextView>& texts, int threads, StopFlag& stop);

// The marks of texts. The caller owns the arrays.
struct Marks {
    const int64_t* indptr = nullptr;
    const uint64_t* items = nullptr;
    bool keep_numbers = false;  // whether texts that differ in any number are kept apart

    explicit operator bool() const { return indptr != nullptr; }
};

// Two texts as far as `kept_apart` compares them: whether it compares pairs of words, and how many items only one has.
struct Difference {
    bool of_words;
    int64_t only_left, only_right;
};

// Whether two texts differ only in numbers, negations, and names that are not spelled alike: they say different things
// in the same words.
bool kept_apart(const uint64_t* left, const uint64_t* left_end, const uint64_t* right, const uint64_t* right_end,
                const Difference& difference, bool keep_numbers);

}  // namespace sthash::join
