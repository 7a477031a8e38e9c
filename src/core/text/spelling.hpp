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

// Words within `most` edits of the given one: insertions, deletions, substitutions and swaps of neighbors, none inside
// another (the restricted Damerau-Levenshtein distance). The nearest `count` of them: the nearer first, then the more
// frequent, then the one that stands first.
//   word         at most kLongestSpelled letters
//   vocabulary   any number of words
//   frequencies  as many numbers
std::vector<SimilarWord> similar_words(const TextView& word, const std::vector<TextView>& vocabulary,
                                       const int64_t* frequencies, int32_t most, size_t count, int threads,
                                       StopFlag& stop);

}  // namespace sthash::text
