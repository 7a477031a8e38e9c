// From texts to words: finds the words of each text and gives every distinct word a number.
//
// A word starts with a letter or a number of any script and goes on through letters, numbers and combining marks;
// it is lower-cased character by character.
#pragma once

#include <array>
#include <vector>

#include "parallel.hpp"
#include "text/characters.hpp"
#include "text/word_table.hpp"

namespace sthash {

// A text as Python holds it: one, two or four bytes a character.
struct TextView {
    const void* data;
    size_t length;
    int width;
};

// For each text, the numbers of its words in reading order: text i owns words[starts[i]:starts[i + 1]].
struct ScannedTexts {
    std::vector<int64_t> starts;
    std::vector<int32_t> words;
};

// The word being read, as UTF-8.
class WordBuffer {
   public:
    void clear() { size_ = 0; }
    bool empty() const { return size_ == 0; }
    PaddedWord word() const { return {bytes_.data(), size_}; }

    void append_ascii(char c) {
        make_room();
        bytes_[size_++] = c;
    }

    void append(uint32_t code) {
        make_room();
        char* at = bytes_.data() + size_;
        if (code < 0x80) {
            at[0] = static_cast<char>(code);
            size_ += 1;
        } else if (code < 0x800) {
            at[0] = static_cast<char>(0xC0 | code >> 6);
            at[1] = static_cast<char>(0x80 | (code & 0x3F));
            size_ += 2;
        } else if (code < 0x10000) {
            at[0] = static_cast<char>(0xE0 | code >> 12);
            at[1] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
            at[2] = static_cast<char>(0x80 | (code & 0x3F));
            size_ += 3;
        } else {
            at[0] = static_cast<char>(0xF0 | code >> 18);
            at[1] = static_cast<char>(0x80 | (code >> 12 & 0x3F));
            at[2] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
            at[3] = static_cast<char>(0x80 | (code & 0x3F));
            size_ += 4;
        }
    }

   private:
    void make_room() {
        if (size_ + 4 + PaddedWord::padding > bytes_.size()) bytes_.resize(2 * bytes_.size());
    }

    std::vector<char> bytes_ = std::vector<char>(256);
    size_t size_ = 0;
};

// Lower-case letter or digit of an ASCII character, 0 where it separates words.
inline constexpr std::array<char, 128> ascii_word = [] {
    std::array<char, 128> table{};
    for (char c = '0'; c <= '9'; ++c) table[c] = c;
    for (char c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = c;
    return table;
}();

template <class Char, class Emit>
void for_each_word(const Char* at, size_t length, WordBuffer& buffer, Emit&& emit) {
    const Characters& characters = Characters::instance();
    const Char* const end = at + length;
    while (at != end) {
        buffer.clear();
        for (; at != end; ++at) {
            const uint32_t code = *at;
            if (code < 128) {
                if (ascii_word[code] == 0) break;
                buffer.append_ascii(ascii_word[code]);
            } else {
                const CharacterKind kind = characters.kind(code);
                if (kind == separator || (kind == mark && buffer.empty())) break;
                buffer.append(characters.lower(code));
            }
        }
        if (!buffer.empty()) emit(buffer.word());
        if (at != end) ++at;
    }
}

template <class Emit>
void for_each_word(const TextView& text, WordBuffer& buffer, Emit&& emit) {
    if (text.width == 1) for_each_word(static_cast<const uint8_t*>(text.data), text.length, buffer, emit);
    if (text.width == 2) for_each_word(static_cast<const uint16_t*>(text.data), text.length, buffer, emit);
    if (text.width == 4) for_each_word(static_cast<const uint32_t*>(text.data), text.length, buffer, emit);
}

// Scans the texts on several threads. Words that `table` lacks are gathered by each thread on its own and added at
// the end, so that the table is only read while threads run. On a stop the table is left as it was.
inline ScannedTexts scan_texts(const std::vector<TextView>& texts, WordTable& table, int threads, StopFlag& stop) {
    constexpr size_t grain = 32;
    struct Piece {
        int thread = 0;
        std::vector<int32_t> words;  // a word that only this thread knows stands as -2 - its number there
    };
    ScannedTexts result;
    result.starts.assign(texts.size() + 1, 0);
    std::vector<Piece> pieces((texts.size() + grain - 1) / grain);
    std::vector<WordTable> found(std::max(threads, 1));
    parallel_for(texts.size(), grain, threads, stop, [&](size_t begin, size_t end, int thread) {
        Piece& piece = pieces[begin / grain];
        piece.thread = thread;
        WordBuffer buffer;
        for (size_t i = begin; i < end; ++i) {
            const size_t before = piece.words.size();
            for_each_word(texts[i], buffer, [&](const PaddedWord& word) {
                const uint64_t hash = hash_of(word);
                int32_t number = table.find(word, hash);
                if (number == WordTable::absent) number = -2 - found[thread].find_or_add(word, hash);
                piece.words.push_back(number);
            });
            result.starts[i + 1] = static_cast<int64_t>(piece.words.size() - before);
        }
    });
    if (stop.load()) return {};
    std::vector<std::vector<int32_t>> numbers(found.size());
    for (size_t thread = 0; thread < found.size(); ++thread)
        for (size_t i = 0; i < found[thread].size(); ++i) {
            const PaddedWord word = found[thread].word(i);
            numbers[thread].push_back(table.find_or_add(word, hash_of(word)));
        }
    for (size_t i = 0; i < texts.size(); ++i) result.starts[i + 1] += result.starts[i];
    result.words.reserve(result.starts.back());
    for (const Piece& piece : pieces)
        for (int32_t number : piece.words)
            result.words.push_back(number >= 0 ? number : numbers[piece.thread][-2 - number]);
    return result;
}

}  // namespace sthash
