// What a character is to the scanner: part of a word or not, and its lower-case form.
#pragma once

#include <cstdint>
#include <memory>

#include "text/unicode_tables.hpp"

namespace sthash::text {

// Letters of unspaced scripts (Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer, Myanmar) are a kind of their own.
enum CharacterKind : uint8_t { separator = 0, letter = 1, mark = 2, unspaced = 3 };

class Characters {
 public:
    static constexpr uint32_t kLimit = 0x110000;

    static const Characters& instance() {
        static const Characters characters;
        return characters;
    }

    CharacterKind kind(uint32_t code) const { return static_cast<CharacterKind>(kinds_[code]); }
    uint32_t lower(uint32_t code) const { return code < kLowerLimit ? code + distances_[code] : lower_astral(code); }

 private:
    // Case exists in the basic plane and, beyond it, only in a few small scripts.
    static constexpr uint32_t kLowerLimit = 0x10000;

    Characters() : kinds_(new uint8_t[kLimit]()), distances_(new int32_t[kLowerLimit]()) {
        for (const unicode::Range& range : unicode::kRanges)
            for (uint32_t code = range.first; code <= range.last; ++code) kinds_[code] = range.kind;
        for (const unicode::Lower& run : unicode::kLowers)
            for (uint32_t i = 0; i < run.count; ++i)
                if (run.first + i * run.step < kLowerLimit) distances_[run.first + i * run.step] = run.distance;
    }

    static uint32_t lower_astral(uint32_t code) {
        for (const unicode::Lower& run : unicode::kLowers)
            if (code >= run.first && code < run.first + run.count * run.step && (code - run.first) % run.step == 0)
                return code + run.distance;
        return code;
    }

    std::unique_ptr<uint8_t[]> kinds_;
    std::unique_ptr<int32_t[]> distances_;
};

}  // namespace sthash::text
