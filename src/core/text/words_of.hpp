// The words of one text, in reading order; `scanner.hpp` says what a word is.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "text/characters.hpp"
#include "text/text_view.hpp"
#include "text/word_table.hpp"

namespace sthash::text {

// Writes a character at `out` as UTF-8 and returns where it ends.
inline char* write_utf8(uint32_t code, char* out) {
    if (code < 0x80) {
        *out++ = static_cast<char>(code);
    } else if (code < 0x800) {
        *out++ = static_cast<char>(0xC0 | code >> 6);
        *out++ = static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = static_cast<char>(0xE0 | code >> 12);
        *out++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
        *out++ = static_cast<char>(0x80 | (code & 0x3F));
    } else {
        *out++ = static_cast<char>(0xF0 | code >> 18);
        *out++ = static_cast<char>(0x80 | (code >> 12 & 0x3F));
        *out++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
        *out++ = static_cast<char>(0x80 | (code & 0x3F));
    }
    return out;
}

// Calls use(character) for each character of UTF-8 bytes that `write_utf8` wrote.
template <class Use>
void for_each_code(const PaddedWord& word, Use&& use) {
    for (size_t at = 0; at < word.size;) {
        const auto lead = static_cast<uint8_t>(word.data[at++]);
        const int more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        uint32_t code = more == 0 ? lead : lead & (0x3F >> more);
        for (int i = 0; i < more; ++i) code = code << 6 | (static_cast<uint8_t>(word.data[at++]) & 0x3F);
        use(code);
    }
}

// Lower-case letter or digit of an ASCII character, 0 where it separates words.
inline constexpr std::array<char, 128> kAsciiWord = [] {
    std::array<char, 128> table{};
    for (char c = '0'; c <= '9'; ++c) table[c] = c;
    for (char c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = c;
    return table;
}();

inline constexpr size_t kReserve = 4 + PaddedWord::kPadding;  // room for one more character

// Calls emit(pair) for each two neighbors in the run of unspaced letters that starts at `at`, or for its only letter.
// Returns where the run ends.
template <class Char, class Emit>
const Char* for_each_pair(const Char* at, const Char* end, std::vector<char>& buffer, Emit&& emit) {
    const Characters& characters = Characters::instance();
    size_t previous = 0, current = 0, size = 0, letters = 0;  // where the last two letters start
    const auto emit_pair = [&] { emit(PaddedWord{buffer.data() + previous, size - previous}); };
    for (; at != end; ++at) {
        const uint32_t code = *at;
        const CharacterKind kind = characters.kind(code);
        if (kind == ignored) continue;
        if (kind == unspaced) {
            if (letters++ >= 2) emit_pair();
            previous = current;
            current = size;
        } else if (kind != mark) {
            break;
        }
        if (size + kReserve > buffer.size()) buffer.resize(2 * buffer.size());
        size = static_cast<size_t>(write_utf8(code, buffer.data() + size) - buffer.data());
    }
    emit_pair();
    return at;
}

// Calls emit(word), or emit(word, first, after) with the character that the word begins with in the text and the one
// that follows it, 0 where they are not known.
template <class Emit>
void emit_word(Emit& emit, const PaddedWord& word, uint32_t first, uint32_t after) {
    if constexpr (std::is_invocable_v<Emit&, const PaddedWord&, uint32_t, uint32_t>)
        emit(word, first, after);
    else
        emit(word);
}

// Calls `emit_word` for each word of a text; `buffer` holds the word meanwhile and grows with the longest.
template <class Char, class Emit>
void for_each_word(const Char* at, size_t length, std::vector<char>& buffer, Emit&& emit) {
    const Characters& characters = Characters::instance();
    const Char* const end = at + length;
    if (buffer.size() < 256) buffer.resize(256);
    char* begin = buffer.data();
    char* limit = begin + buffer.size() - kReserve;
    while (at != end) {
        char* out = begin;
        uint32_t first = 0;
        bool at_run = false;
        for (; at != end; ++at) {
            const uint32_t code = *at;
            if (out >= limit) {
                const size_t size = out - begin;
                buffer.resize(2 * buffer.size());
                begin = buffer.data();
                limit = begin + buffer.size() - kReserve;
                out = begin + size;
            }
            if (code < 128) {
                const char c = kAsciiWord[code];
                if (c == 0) break;
                if (out == begin) first = code;
                *out++ = c;
            } else {
                const CharacterKind kind = characters.kind(code);
                if (kind == ignored) continue;
                if (kind == separator || (kind == mark && out == begin)) break;
                if constexpr (sizeof(Char) > 1) {  // Latin-1 has no unspaced letters
                    at_run = kind == unspaced;
                    if (at_run) break;
                }
                if (out == begin) first = code;
                out = write_utf8(characters.lower(code), out);
            }
        }
        if (out != begin)
            emit_word(emit, PaddedWord{begin, static_cast<size_t>(out - begin)}, first, at != end ? *at : 0);
        if (at_run) {
            at = for_each_pair(at, end, buffer, [&](const PaddedWord& pair) { emit_word(emit, pair, 0, 0); });
            begin = buffer.data();
            limit = begin + buffer.size() - kReserve;
        } else if (at != end) {
            ++at;
        }
    }
}

inline bool is_ascii(const uint8_t* text, size_t length) {
    uint8_t all = 0;
    for (size_t at = 0; at < length; ++at) all |= text[at];
    return all < 128;
}

// The same for ASCII text, 64 characters at a time: a bit says whether a character belongs to a word, and
// words begin and end where two bits next to each other differ. No branch depends on a single character.
template <class Emit>
void for_each_ascii_word(const uint8_t* text, size_t length, std::vector<char>& lowered, Emit&& emit) {
    constexpr size_t kBlock = 64;
    const size_t blocks = length / kBlock + 1;  // the last one ends in separators, which end the last word
    lowered.resize(blocks * kBlock + PaddedWord::kPadding);
    char* const out = lowered.data();
    bool inside = false;
    size_t start = 0;
    for (size_t b = 0; b < blocks; ++b) {
        uint8_t in[kBlock], is_word[kBlock];
        if ((b + 1) * kBlock <= length) {
            std::memcpy(in, text + b * kBlock, kBlock);
        } else {
            std::memset(in, 0, kBlock);
            std::memcpy(in, text + b * kBlock, length - b * kBlock);
        }
        for (size_t i = 0; i < kBlock; ++i) {
            const uint8_t lower = in[i] | 0x20;
            const bool letter = static_cast<uint8_t>(lower - 'a') < 26;
            const bool digit = static_cast<uint8_t>(in[i] - '0') < 10;
            out[b * kBlock + i] = static_cast<char>(letter ? lower : in[i]);
            is_word[i] = letter | digit;
        }
        uint64_t word_bits = 0;
        for (size_t i = 0; i < kBlock; i += 8) {
            uint64_t bytes;
            std::memcpy(&bytes, is_word + i, 8);
            word_bits |= (bytes * 0x0102040810204080ull >> 56) << i;
        }
        uint64_t edges = word_bits ^ (word_bits << 1 | static_cast<uint64_t>(inside));
        for (; edges != 0; edges &= edges - 1) {
            const size_t at = b * kBlock + static_cast<size_t>(std::countr_zero(edges));
            if (inside)
                emit_word(emit, PaddedWord{out + start, at - start}, text[start], at < length ? text[at] : 0);
            inside = !inside;
            start = at;
        }
    }
}

template <class Emit>
void for_each_word(const TextView& text, std::vector<char>& buffer, Emit&& emit) {
    if (text.width == 1) {
        const auto* bytes = static_cast<const uint8_t*>(text.data);
        if (is_ascii(bytes, text.length)) return for_each_ascii_word(bytes, text.length, buffer, emit);
        for_each_word(bytes, text.length, buffer, emit);
    } else if (text.width == 2) {
        for_each_word(static_cast<const uint16_t*>(text.data), text.length, buffer, emit);
    } else {
        for_each_word(static_cast<const uint32_t*>(text.data), text.length, buffer, emit);
    }
}

}  // namespace sthash::text
