#include "text/spelling.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace sthash::text {

namespace {

uint32_t letter_at(const TextView& text, size_t at) {
    if (text.width == 1) return static_cast<const uint8_t*>(text.data)[at];
    if (text.width == 2) return static_cast<const uint16_t*>(text.data)[at];
    return static_cast<const uint32_t*>(text.data)[at];
}

// The given word, as one bit per letter: for each letter, where it stands.
class Pattern {
 public:
    explicit Pattern(const TextView& word) : length_(word.length) {
        for (size_t at = 0; at < length_; ++at) {
            const uint32_t letter = letter_at(word, at);
            if (letter < low_.size()) {
                low_[letter] |= uint64_t{1} << at;
                continue;
            }
            auto known =
                std::find_if(high_.begin(), high_.end(), [&](const auto& entry) { return entry.first == letter; });
            if (known == high_.end()) known = high_.insert(high_.end(), {letter, 0});
            known->second |= uint64_t{1} << at;
        }
    }

    // The distance of a word, or more than `most` if it is farther away: columns of the table of distances as
    // differences of neighbors, one bit each (H. Hyyrö, "A Bit-Vector Algorithm for Computing Levenshtein and Damerau
    // Edit Distances", 2003).
    template <class Letter>
    int32_t distance(const Letter* letters, size_t size, int32_t most) const {
        if (length_ == 0) return static_cast<int32_t>(size);
        const uint64_t last = uint64_t{1} << (length_ - 1);
        uint64_t rises = ~uint64_t{0}, falls = 0, diagonal = 0, before = 0;
        auto distance = static_cast<int32_t>(length_);
        for (size_t at = 0; at < size; ++at) {
            const uint64_t matches = places_of(letters[at]);
            const uint64_t swaps = ((~diagonal & matches) << 1) & before;
            diagonal = (((matches & rises) + rises) ^ rises) | matches | falls | swaps;
            uint64_t up = falls | ~(diagonal | rises), down = diagonal & rises;
            distance += (up & last) != 0;
            distance -= (down & last) != 0;
            // Each letter that is left can bring it down by one at most.
            if (distance - static_cast<int32_t>(size - at - 1) > most) return most + 1;
            up = up << 1 | 1;
            down <<= 1;
            rises = down | ~(diagonal | up);
            falls = up & diagonal;
            before = matches;
        }
        return distance;
    }

    int32_t distance(const TextView& text, int32_t most) const {
        if (text.width == 1) return distance(static_cast<const uint8_t*>(text.data), text.length, most);
        if (text.width == 2) return distance(static_cast<const uint16_t*>(text.data), text.length, most);
        return distance(static_cast<const uint32_t*>(text.data), text.length, most);
    }

 private:
    uint64_t places_of(uint32_t letter) const {
        if (letter < low_.size()) return low_[letter];
        for (const auto& [known, places] : high_)
            if (known == letter) return places;
        return 0;
    }

    size_t length_;
    std::array<uint64_t, 256> low_{};
    std::vector<std::pair<uint32_t, uint64_t>> high_;
};

bool comes_first(const SimilarWord& a, const SimilarWord& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.frequency != b.frequency ? a.frequency > b.frequency : a.place < b.place;
}

// One bit for each letter that a word has; letters share bits.
uint64_t signature(const TextView& text) {
    uint64_t found = 0;
    for (size_t at = 0; at < text.length; ++at) found |= uint64_t{1} << (letter_at(text, at) & 63);
    return found;
}

constexpr size_t kLongestFound = 2 * kLongestSpelled;

}  // namespace

SpelledWords::SpelledWords(const std::vector<TextView>& words, const int64_t* frequencies)
    : bounds_(kLongestFound + 2) {
    for (const TextView& word : words)
        if (word.length <= kLongestFound) ++bounds_[word.length + 1];
    for (size_t length = 0; length <= kLongestFound; ++length) bounds_[length + 1] += bounds_[length];
    std::vector<size_t> next(bounds_.begin(), bounds_.end() - 1);
    signatures_.resize(bounds_.back());
    places_.resize(bounds_.back());
    frequencies_.resize(bounds_.back());
    starts_.resize(bounds_.back());
    widths_.resize(bounds_.back());
    for (size_t i = 0; i < words.size(); ++i) {
        const TextView& word = words[i];
        if (word.length > kLongestFound) continue;
        const size_t slot = next[word.length]++, size = word.length * static_cast<size_t>(word.width);
        signatures_[slot] = signature(word);
        places_[slot] = static_cast<int64_t>(i);
        frequencies_[slot] = frequencies[i];
        widths_[slot] = static_cast<uint8_t>(word.width);
        content_.resize((content_.size() + 3) / 4 * 4);  // letters may have four bytes
        starts_[slot] = static_cast<int64_t>(content_.size());
        const auto* const letters = static_cast<const uint8_t*>(word.data);
        content_.insert(content_.end(), letters, letters + size);
    }
}

TextView SpelledWords::letters(size_t slot) const {
    const auto length = static_cast<size_t>(std::upper_bound(bounds_.begin(), bounds_.end(), slot) - bounds_.begin());
    return {content_.data() + starts_[slot], length - 1, widths_[slot]};
}

std::vector<SimilarWord> SpelledWords::similar(const TextView& word, int32_t most, size_t count, int threads,
                                               StopFlag& stop) const {
    const Pattern pattern(word);
    const auto slack = static_cast<size_t>(most);
    const size_t shortest = word.length > slack ? word.length - slack : 0, longest = word.length + slack;
    const size_t first = bounds_[shortest], last = bounds_[std::min(longest, kLongestFound) + 1];
    const uint64_t own = signature(word);
    std::vector<std::vector<SimilarWord>> found(static_cast<size_t>(std::max(threads, 1)));
    parallel_for(last - first, 4096, threads, stop, [&](size_t begin, size_t end, int thread) {
        for (size_t slot = first + begin; slot < first + end; ++slot) {
            // An edit takes away one letter at most, and brings one at most.
            if (std::popcount(own & ~signatures_[slot]) > most || std::popcount(signatures_[slot] & ~own) > most)
                continue;
            const int32_t distance = pattern.distance(letters(slot), most);
            if (distance <= most) found[thread].push_back({places_[slot], frequencies_[slot], distance});
        }
    });
    std::vector<SimilarWord> all;
    for (const std::vector<SimilarWord>& part : found) all.insert(all.end(), part.begin(), part.end());
    const size_t kept = std::min(count, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), comes_first);
    all.resize(kept);
    return all;
}

}  // namespace sthash::text
