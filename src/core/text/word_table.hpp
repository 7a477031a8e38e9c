// A growing set of words, each with a number: open addressing over one arena of UTF-8 bytes. Hashes are keyed with
// random numbers of the process, so that nobody can choose words that collide. Numbers do not depend on the key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "keyed_hash.hpp"

namespace sthash::text {

// A word as bytes that may be read up to kPadding bytes beyond its end.
struct PaddedWord {
    static constexpr size_t kPadding = 8;
    const char* data;
    size_t size;
};

// The next eight bytes of a word of which `left` are left; bytes beyond its end read as zero.
inline uint64_t chunk_at(const char* at, size_t left) {
    uint64_t chunk;
    std::memcpy(&chunk, at, sizeof chunk);
    return left >= 8 ? chunk : chunk & ((uint64_t{1} << (8 * left)) - 1);
}

inline uint64_t hash_of(const PaddedWord& word) {
    uint64_t hash = kHashKey.start + word.size;
    for (size_t at = 0; at < word.size; at += 8)
        hash = folded_product(hash ^ chunk_at(word.data + at, word.size - at), kHashKey.factor);
    return hash;
}

// A hash of a word that is the same in every process and on every machine.
inline uint64_t lasting_hash(const PaddedWord& word) {
    constexpr uint64_t kFactor = 0xA0761D6478BD642Full;
    uint64_t hash = 0xE7037ED1A0B428DBull + word.size;
    for (size_t at = 0; at < word.size; at += 8)
        hash = folded_product(hash ^ chunk_at(word.data + at, word.size - at), kFactor);
    return folded_product(hash ^ word.size, 0x8EBC6AF09C88C6E3ull);
}

inline bool operator==(const PaddedWord& a, const PaddedWord& b) {
    if (a.size != b.size) return false;
    for (size_t at = 0; at < a.size; at += 8)
        if (chunk_at(a.data + at, a.size - at) != chunk_at(b.data + at, a.size - at)) return false;
    return true;
}

class WordTable {
 public:
    static constexpr int32_t kAbsent = -1;

    size_t size() const { return starts_.size() - 1; }

    // Memory that it holds.
    size_t bytes() const {
        return arena_.capacity() + starts_.capacity() * sizeof starts_[0] + slots_.capacity() * sizeof(Slot);
    }

    // How many slots the search for the word that is farthest from its place looks at.
    size_t longest_probe() const {
        size_t longest = 0;
        for (size_t at = 0; at < slots_.size(); ++at)
            if (slots_[at].number != kAbsent)
                longest = std::max(longest, ((at - hash_of(word(slots_[at].number))) & mask_) + 1);
        return longest;
    }

    PaddedWord word(size_t number) const {
        return {arena_.data() + starts_[number], starts_[number + 1] - starts_[number]};
    }

    int32_t find(const PaddedWord& word, uint64_t hash) const {
        if (slots_.empty()) return kAbsent;
        const Slot wanted = slot_for(word, hash, kAbsent);
        for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
            const Slot& slot = slots_[at];
            if (slot.number == kAbsent) return kAbsent;
            if (slot.head == wanted.head && slot.tag == wanted.tag &&
                (word.size <= sizeof wanted.head || this->word(slot.number) == word))
                return slot.number;
        }
    }

    int32_t find_or_add(const PaddedWord& word, uint64_t hash) {
        const int32_t known = find(word, hash);
        if (known != kAbsent) return known;
        if (2 * (size() + 1) > slots_.size()) grow();
        const auto number = static_cast<int32_t>(size());
        arena_.resize(starts_.back());
        arena_.insert(arena_.end(), word.data, word.data + word.size);
        starts_.push_back(arena_.size());
        arena_.resize(arena_.size() + PaddedWord::kPadding);
        place(slot_for(word, hash, number), hash);
        return number;
    }

 private:
    // The first bytes of a word lie in its slot: for most words they are the whole of it, and tell without a
    // look into the arena. The tag has the size of a short word, and other bits of the hash for a long one.
    struct Slot {
        uint64_t head;
        uint32_t tag;
        int32_t number;
    };

    static Slot slot_for(const PaddedWord& word, uint64_t hash, int32_t number) {
        const bool is_short = word.size <= sizeof(Slot::head);
        return {chunk_at(word.data, word.size),
                is_short ? static_cast<uint32_t>(word.size) : static_cast<uint32_t>(hash >> 32) | 16u, number};
    }

    void place(Slot slot, uint64_t hash) {
        size_t at = hash & mask_;
        while (slots_[at].number != kAbsent) at = (at + 1) & mask_;
        slots_[at] = slot;
    }

    void grow() {
        const size_t capacity = slots_.empty() ? 1024 : slots_.size() * 2;
        slots_.assign(capacity, {0, 0, kAbsent});
        mask_ = capacity - 1;
        for (size_t number = 0; number < size(); ++number) {
            const uint64_t hash = hash_of(word(number));
            place(slot_for(word(number), hash, static_cast<int32_t>(number)), hash);
        }
    }

    std::vector<char> arena_;
    std::vector<size_t> starts_{0};
    std::vector<Slot> slots_;
    size_t mask_ = 0;
};

}  // namespace sthash::text
