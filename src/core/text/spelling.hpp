// The words of a vocabulary that are spelled most like a given one.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "text/scanner.hpp"

namespace sthash::text {

// A word of the vocabulary, how far it is from the given one, and how frequent it is.
struct SimilarWord {
    int64_t place;
    int64_t frequency;
    int32_t distance;
};

// A longer word has no similar ones: its letters must fit into the bits of a machine word.
constexpr size_t kLongestSpelled = 64;

// A vocabulary that is asked for similar words. It holds a copy of its letters.
class SpelledWords {
 public:
    // frequencies: as many numbers as words
    SpelledWords(const std::vector<TextView>& words, const int64_t* frequencies);

    // Words within `most` edits of the given one: insertions, deletions, substitutions and swaps of neighbors, none
    // inside another (the restricted Damerau-Levenshtein distance). The nearest `count` of them: the nearer first, then
    // the more frequent, then the one that stands first. The word has at most kLongestSpelled letters, and `most` is at
    // most as large.
    std::vector<SimilarWord> similar(const TextView& word, int32_t most, size_t count, int threads,
                                     StopFlag& stop) const;

 private:
    TextView letters(size_t slot) const;

    // By slot: words by their length, and of the same length as they came.
    std::vector<uint64_t> signatures_;  // which letters a word has
    std::vector<int64_t> places_, frequencies_, starts_;
    std::vector<uint8_t> widths_;
    std::vector<size_t> bounds_;  // of the slots of each length, 0 to 2 * kLongestSpelled
    std::vector<uint8_t> content_;
};

}  // namespace sthash::text
