// What a character is to the scanner: part of a word or not, its lower-case form, and that without accents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "text/text_view.hpp"
#include "text/unicode_tables.hpp"

namespace sthash::text {

// Letters of unspaced scripts (Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer, Myanmar) are a kind of their own.
enum CharacterKind : uint8_t { separator = 0, letter = 1, mark = 2, unspaced = 3, ignored = 4 };

class Characters {
 public:
    static constexpr uint32_t kLimit = 0x110000;

    static const Characters& instance() {
        static const Characters characters;
        return characters;
    }

    CharacterKind kind(uint32_t code) const { return static_cast<CharacterKind>(kinds_[code] & kKindBits); }
    // Which normal form a text with this character may need.
    NormalForm normal_form(uint32_t code) const { return static_cast<NormalForm>(kinds_[code] / (kKindBits + 1)); }
    uint32_t lower(uint32_t code) const { return code < kLowerLimit ? code + distances_[code] : lower_astral(code); }

    // Writes a lower-case letter without its accent to `plain` and returns how many letters it has: 1, or 2 for joined
    // ones.
    int without_accent(uint32_t code, uint32_t* plain) const {
        const auto found = plain_.find(code);
        plain[0] = found == plain_.end() ? code : found->second.first;
        plain[1] = found == plain_.end() ? 0 : found->second.second;
        return plain[1] == 0 ? 1 : 2;
    }

    // Whether a combining mark on this letter is an accent or a vowel point, not part of another letter.
    bool takes_accents(uint32_t code) const {
        const auto* const after =
            std::upper_bound(std::begin(unicode::kAccented), std::end(unicode::kAccented), code,
                             [](uint32_t wanted, const unicode::Letters& range) { return wanted < range.first; });
        return after != std::begin(unicode::kAccented) && code <= std::prev(after)->last;
    }

 private:
    static constexpr uint8_t kKindBits = 7;  // the bits above are the normal form
    // Case exists in the basic plane and, beyond it, only in a few small scripts.
    static constexpr uint32_t kLowerLimit = 0x10000;

    Characters() : kinds_(new uint8_t[kLimit]()), distances_(new int32_t[kLowerLimit]()) {
        for (const unicode::Range& range : unicode::kRanges)
            for (uint32_t code = range.first; code <= range.last; ++code) kinds_[code] = range.kind;
        for (const unicode::Lower& run : unicode::kLowers)
            for (uint32_t i = 0; i < run.count; ++i)
                if (run.first + i * run.step < kLowerLimit) distances_[run.first + i * run.step] = run.distance;
        for (const unicode::Range& range : unicode::kNormalForms)
            for (uint32_t code = range.first; code <= range.last; ++code)
                kinds_[code] |= static_cast<uint8_t>(range.kind * (kKindBits + 1));
        for (const unicode::Plain& plain : unicode::kPlain) plain_.emplace(plain.letter, plain);
    }

    static uint32_t lower_astral(uint32_t code) {
        for (const unicode::Lower& run : unicode::kLowers)
            if (code >= run.first && code < run.first + run.count * run.step && (code - run.first) % run.step == 0)
                return code + run.distance;
        return code;
    }

    std::unique_ptr<uint8_t[]> kinds_;
    std::unique_ptr<int32_t[]> distances_;
    std::unordered_map<uint32_t, unicode::Plain> plain_;
};

}  // namespace sthash::text
