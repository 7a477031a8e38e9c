// The inner loops of the search in cells, for the path that the machine runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::cells {

inline constexpr size_t kBlock = 32;  // rows whose codes lie side by side
// Values of the tables are at most this: eight of them fit into a byte.
inline constexpr int kMostValue = 31;

// How the bytes of a place become numbers: factor = factors[0] + factors[1] × byte, and shifts alike.
struct Scales {
    float factors[2], shifts[2];
};

// What a query knows before it looks into a cell. Tables have 32 bytes per byte of a code: 16 values, twice. A lookup v
// stands for step × v; `base` is added once per code.
struct Tables {
    const uint8_t *low, *high;
    float step, base;
};

// What a query knows of a cell: its product with the center, and how much of a shift counts.
struct CellTerms {
    float product, tilt;
};

struct Found {
    float score;
    int32_t place;
};

// Looks at `count` blocks of 32 places, each `bytes` × 32 bytes of codes, then 32 factors and 32 shifts. For the 32
// codes c_i of a block, estimate_i = product + tilt × shift_i + factor_i × (base + step × Σ_j low[j][c_ij & 15] +
// high[j][c_ij >> 4]). Writes those that are at least `limit`, with their places counted from `first`, and returns how
// many they are. `found` has room for 32 per block.
size_t scan(const uint8_t* blocks, size_t count, size_t bytes, const Tables& tables, const Scales& scales,
            const CellTerms& cell, float limit, int32_t first, Found* found);

// Products of one row of numbers with `rows` rows of bytes. Sums must fit into 32 bits.
void products(const int16_t* query, const int8_t* bytes, size_t rows, size_t count, int32_t* sums);

}  // namespace sthash::cells
