// The inner loops of the search in cells, for the path that the machine runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::cells {

// How the bytes of a place become numbers: factor = factors[0] + factors[1] × byte, and shifts alike.
struct Scales {
    float factors[2], shifts[2];
};

// What a query knows before it looks into a cell. Tables have 32 bytes per byte of a code: 16 values of at most 127,
// twice. A lookup v stands for step × v; `base` is added once per code.
struct Tables {
    const uint8_t *low, *high;
    float step, base;
};

// One block of 32 places.
struct Block {
    const uint8_t *codes, *factors, *shifts;
};

// Computes estimates[i] = product + shift_i + factor_i × (base + step × Σ_j low[j][c_ij & 15] + high[j][c_ij >> 4]) for
// the 32 codes c_i; returns whether any is at least `limit`.
bool estimate(const Block& block, size_t bytes, const Tables& tables, const Scales& scales, float product, float limit,
              float* estimates);

// Product of two vectors, added up in 16 lanes and then in a fixed order.
float dot(const float* left, const float* right, size_t count);

}  // namespace sthash::cells
