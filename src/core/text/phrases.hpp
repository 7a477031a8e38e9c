// Phrases: strings of bytes that the texts of a collection share. With them each text is packed alone, so that one text
// can be read without the others: it becomes a sequence of numbers of phrases, of one byte or two.
//
// A number below kShort is one byte; the others are two: kShort + high, low. All 256 single bytes are phrases, so
// every text can be packed. Packed bytes and phrases may come from an untrusted file: whatever is wrong with them
// throws std::invalid_argument, and a text takes at most kLongest times the memory of its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sthash::text {

class PhraseTrie;

class Phrases {
 public:
    static constexpr size_t kLongest = 16;  // bytes of a phrase
    static constexpr size_t kShort = 192;   // the most common phrases have numbers of one byte
    static constexpr size_t kMost = kShort + (256 - kShort) * 256;

    // Chooses phrases for texts like these, as many as pay for themselves; the most common come first. The same texts
    // give the same phrases everywhere.
    static std::vector<std::string> learn(const std::vector<std::string_view>& texts);

    // Takes what `content` gave.
    explicit Phrases(std::string_view content);
    ~Phrases();

    // The phrases as bytes: each with its length before it.
    static std::string content_of(const std::vector<std::string>& phrases);

    // Appends a text to `packed`. Several threads may call it at the same time.
    void pack(std::string_view text, std::string& packed) const;

    // The bytes of the text that was packed.
    size_t size_of(std::string_view packed) const;
    // Writes them to an array of that many bytes.
    void unpack(std::string_view packed, char* text) const;

    size_t size() const { return ends_.size(); }

 private:
    std::string_view phrase(size_t number) const {
        const size_t begin = number == 0 ? 0 : ends_[number - 1];
        return {bytes_.data() + begin, ends_[number] - begin};
    }
    template <class Visit>
    void each(std::string_view packed, Visit&& visit) const;

    std::string bytes_;
    std::vector<uint32_t> ends_;
    mutable std::once_flag made_;  // only those who pack need the trie
    mutable std::unique_ptr<PhraseTrie> trie_;
};

}  // namespace sthash::text
