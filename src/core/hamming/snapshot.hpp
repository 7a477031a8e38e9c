// What a search reads: an immutable snapshot of the index.
//
// A code lives in a slot; slots are grouped into pages, all full but the last. A page never changes once a
// snapshot holds it: an added code goes behind the last count that any snapshot knows, a removed one gets its
// bit in a copy of the page's bitmap of the dead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sthash::hamming {

constexpr uint32_t kPageBits = 16;
constexpr uint32_t kPageSlots = 1u << kPageBits;
using DeadBits = std::vector<uint64_t>;  // one bit a slot of the page

// The id `steps` after another; wraps around instead of overflowing when no such id exists.
inline int64_t after_id(int64_t id, uint64_t steps) {
    return static_cast<int64_t>(static_cast<uint64_t>(id) + steps);
}

struct Page {
    std::shared_ptr<const void> owner;  // of codes and ids
    const uint64_t* codes = nullptr;
    const int64_t* ids = nullptr;  // if null, the ids run from first_id on
    int64_t first_id = 0;
    uint32_t count = 0;
    std::shared_ptr<const DeadBits> dead;  // null if all live

    int64_t id(uint32_t offset) const { return ids ? ids[offset] : first_id + offset; }
    bool is_dead(uint32_t offset) const { return dead && ((*dead)[offset / 64] >> (offset % 64) & 1); }
};

// A stretch of a page, to be scanned.
struct Run {
    const Page* page;
    uint32_t start, count;

    const uint64_t* codes(int words) const { return page->codes + size_t{start} * words; }
    int64_t id(uint32_t offset) const { return page->id(start + offset); }
    bool is_dead(uint32_t offset) const { return page->is_dead(start + offset); }
};

struct Tables;
class MappedFile;

struct Snapshot {
    explicit Snapshot(int n_bits) : n_bits(n_bits), words((n_bits + 63) / 64) {}

    int n_bits, words;
    std::vector<std::shared_ptr<const Page>> pages;
    uint64_t slots = 0, dead = 0;
    uint64_t generation = 0;  // changes when codes move to other slots
    int64_t max_id = -1;      // greatest id ever held: default ids go on from there
    bool sorted = true;       // ids grow with the slots
    std::shared_ptr<const Tables> tables;
    std::shared_ptr<const MappedFile> file;  // that holds some of the pages, to be verified before use, or null

    uint64_t size() const { return slots - dead; }
    const Page& page_of(uint32_t slot) const { return *pages[slot >> kPageBits]; }
    int64_t id_of(uint32_t slot) const { return page_of(slot).id(slot & (kPageSlots - 1)); }
    bool is_dead(uint32_t slot) const { return page_of(slot).is_dead(slot & (kPageSlots - 1)); }
    const uint64_t* code_of(uint32_t slot) const {
        return page_of(slot).codes + size_t{slot & (kPageSlots - 1)} * words;
    }

    // The codes of slots [first, last) as runs, in the order of the slots.
    std::vector<Run> runs(uint64_t first, uint64_t last) const;

    // The slot of an id in a sorted snapshot, or -1 if it never was there. Dead slots are found too.
    int64_t find_sorted(int64_t id) const;
};

// What a reader holds on to.
using Reading = std::shared_ptr<const Snapshot>;

}  // namespace sthash::hamming
