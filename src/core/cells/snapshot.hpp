// What a search among embeddings reads: an immutable snapshot of the rows, with the centers of their cells.
//
// A row lives in a slot; slots are grouped into pages, which hold the vectors, the ids, and the cell of each row. A
// cell holds the codes of its rows, in extents of up to 256. Neither a page nor an extent changes once a snapshot holds
// it: an added vector goes behind the last one that any snapshot knows, an added code into a copy of the last extent of
// its cell, and a removed row is marked in copies of both.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cells/kernels.hpp"

namespace sthash::cells {

enum class Precision { float32, float16, int8 };

inline size_t bytes_per_value(Precision precision) {
    return precision == Precision::float32 ? 4 : precision == Precision::float16 ? 2 : 1;
}

// What was learned. The arrays belong to the caller, or to the `Centers` of a snapshot.
struct Coder {
    size_t n_cells, dimension, bytes;  // `bytes` per code is even
    const int8_t* centers;             // n_cells × dimension
    const float* lengths;              // per cell what 1 stands for in its center, 1 / |center|², and a weight
    const float* signs;                // dimension × 8 bytes, sign vectors
    const float* scales;               // of factors and shifts, as in Scales
    Precision precision;               // of vectors
    const float* steps;                // per dimension what 1 stands for, if vectors are int8

    size_t row_bytes() const { return bytes + 2; }
    size_t vector_bytes() const { return dimension * bytes_per_value(precision); }
};

// The centers of a snapshot whose cells were grouped anew.
struct Centers {
    std::vector<int8_t> bytes;
    std::vector<float> lengths;
};

inline constexpr uint32_t kPageBits = 12, kPageRows = 1u << kPageBits;
inline constexpr uint32_t kExtentBits = 8, kExtentRows = 1u << kExtentBits;
inline constexpr uint32_t kMostPages = 1u << (32 - kPageBits);
inline constexpr uint64_t kMostRows = uint64_t{1} << 29;

using DeadBits = std::array<uint64_t, kPageRows / 64>;

struct Page {
    std::shared_ptr<const void> owner;  // of vectors
    const std::byte* vectors = nullptr;
    std::shared_ptr<const int64_t[]> ids;  // if null, the ids run from first_id on
    int64_t first_id = 0;
    std::shared_ptr<const int32_t[]> cells;
    uint32_t count = 0, dead_count = 0;
    bool borrowed = false;                 // whether somebody else owns the vectors: they are never moved
    std::shared_ptr<const DeadBits> dead;  // null if all live

    int64_t id(uint32_t row) const {
        return ids ? ids[row] : static_cast<int64_t>(static_cast<uint64_t>(first_id) + row);
    }
    bool is_dead(uint32_t row) const { return dead && ((*dead)[row / 64] >> (row % 64) & 1) != 0; }
};

// Up to 256 rows of a cell, in the order of their slots. A block holds the first byte of its 32 codes, then the second
// byte, and so on, then the 32 factors and the 32 shifts.
struct Extent {
    std::shared_ptr<const uint32_t[]> slots;
    std::shared_ptr<const uint8_t[]> blocks;
    uint32_t size = 0, dead_count = 0;
    std::array<uint32_t, kExtentRows / 32> dead{};

    size_t n_blocks() const { return (size + kBlock - 1) / kBlock; }
    bool is_dead(uint32_t row) const { return (dead[row / 32] >> (row % 32) & 1) != 0; }
};

using Cell = std::vector<Extent>;  // all full but the last

struct Snapshot {
    explicit Snapshot(const Coder& coder)
        : coder(coder), cells(coder.n_cells, std::make_shared<const Cell>()), sizes(coder.n_cells) {}

    Coder coder;
    std::shared_ptr<const Centers> centers;  // of the coder; null if the caller owns them
    std::vector<std::shared_ptr<const Cell>> cells;
    std::vector<int32_t> sizes;  // live rows per cell
    std::vector<std::shared_ptr<const Page>> pages;
    std::vector<const std::byte*> vectors;  // of the pages
    uint64_t size = 0;                      // live rows
    uint64_t dead = 0;                      // removed rows that pages still hold
    int64_t max_id = -1;                    // greatest id ever held: default ids go on from there
    bool sorted = true;                     // ids grow with the slots

    const Page& page_of(uint32_t slot) const { return *pages[slot >> kPageBits]; }
    int64_t id_of(uint32_t slot) const { return page_of(slot).id(slot & (kPageRows - 1)); }
    bool is_dead(uint32_t slot) const { return page_of(slot).is_dead(slot & (kPageRows - 1)); }
    const std::byte* vector_of(uint32_t slot, size_t vector_bytes) const {
        return vectors[slot >> kPageBits] + size_t{slot & (kPageRows - 1)} * vector_bytes;
    }

    // Calls visit(slot) for each live row, in the order of the slots.
    template <class Visit>
    void each_slot(Visit&& visit) const {
        for (size_t number = 0; number < pages.size(); ++number)
            for (uint32_t row = 0; row < pages[number]->count; ++row)
                if (!pages[number]->is_dead(row)) visit(static_cast<uint32_t>(number << kPageBits | row));
    }

    // All live slots, in the order of their ids.
    std::vector<uint32_t> slots_by_id() const {
        std::vector<uint32_t> slots;
        slots.reserve(size);
        each_slot([&](uint32_t slot) { slots.push_back(slot); });
        if (!sorted) order_by_id(slots);
        return slots;
    }
    void order_by_id(std::vector<uint32_t>& slots) const {
        std::sort(slots.begin(), slots.end(), [&](uint32_t a, uint32_t b) { return id_of(a) < id_of(b); });
    }

    // The slot of an id in a sorted snapshot, or -1 if it is not there.
    int64_t find_sorted(int64_t id) const {
        const auto after = std::upper_bound(pages.begin(), pages.end(), id,
                                            [](int64_t wanted, const auto& page) { return wanted < page->id(0); });
        if (after == pages.begin()) return -1;
        const size_t number = static_cast<size_t>(after - pages.begin()) - 1;
        const Page& page = *pages[number];
        uint64_t row = static_cast<uint64_t>(id) - static_cast<uint64_t>(page.first_id);
        if (page.ids)
            row = static_cast<uint64_t>(std::lower_bound(&page.ids[0], &page.ids[page.count], id) - &page.ids[0]);
        if (row >= page.count || page.id(static_cast<uint32_t>(row)) != id) return -1;
        return page.is_dead(static_cast<uint32_t>(row)) ? -1 : static_cast<int64_t>(number << kPageBits | row);
    }
};

}  // namespace sthash::cells
