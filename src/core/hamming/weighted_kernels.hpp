// Kernels of weighted search.
//
// A code's distance is the sum of the weights of the bits in which it differs from the query. A block of codes is split
// into parts of a few bits, one vector per part; a table for each part of the query then gives, by one shuffle for up
// to 64 codes, what the part adds to the distance. The entries are bytes, rounded down, in units that leave what is
// farther than the limit above the greatest byte: the sums are lower bounds, and the few codes whose bound is within
// the limit get their exact distance.
//
// Exact means: a float32 for each four bits, summed from the lowest bit on; every fourth of these summed, from the
// lowest on; and the four sums s0 to s3 taken together as (s0 + s1) + (s2 + s3). So every path gives the same distances
// to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::hamming::weighted {

constexpr int kShort = 2;  // words of a code up to which sums of bytes are sharp enough

// The exact distance of one code. `tables` has 4 × quads tables of 16 floats: what the four bits that a table stands
// for add to the distance.
inline float weigh_one(const uint64_t* code, int quads, const float* tables) {
    float sums[4] = {};
    for (int quad = 0; quad < quads; ++quad, tables += 64) {
        const uint64_t bits = code[quad / 4] >> (quad % 4 * 16);
        sums[0] += tables[bits & 15];
        sums[1] += tables[16 + (bits >> 4 & 15)];
        sums[2] += tables[32 + (bits >> 8 & 15)];
        sums[3] += tables[48 + (bits >> 12 & 15)];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Which code of a split group stands at a place of its planes, on a path with so many 64-bit lanes per vector.
inline uint32_t code_at(uint32_t place, uint32_t lanes) {
    return lanes * (place % 8) + place / 8;
}

// The kernels of one SIMD path. A code has `words` words of 64 bits; a word is split into parts of `part_bits` bits.
// Planes and tables are aligned to 64 bytes; the caller owns them.
struct Kernels {
    int parts_of_word, part_bits;

    // Codes that are split together.
    uint32_t group;

    // Splits codes into planes: per group of codes and per part, one byte per code. The last group is filled up with
    // codes of zeros.
    //   codes   count × words
    //   planes  space for ceil(count / group) × words × parts_of_word × group bytes
    void (*split)(const uint64_t* codes, uint32_t count, int words, uint8_t* planes);

    // Builds the tables of lower bounds of one query: what the bits of a part that differ from it weigh, in units of
    // 1 / scale, rounded down to a byte.
    //   query    words
    //   weights  64 × words, zero beyond the bits of the code
    //   tables   space for words × parts_of_word tables of 2^part_bits bytes
    void (*build_bounds)(const uint64_t* query, const float* weights, int words, float scale, uint8_t* tables);

    // Finds the codes of split groups whose lower bound is at most `limit`; may find codes that fill up the last group.
    //   found  space for groups × group; gets the numbers of the codes found, in any order
    // Returns how many were found.
    size_t (*filter)(const uint8_t* planes, size_t groups, int n_bits, const uint8_t* tables, uint32_t limit,
                     uint32_t* found);

    // As filter, for whole weights, at most 255 for the bits of a word together: the sums are exact.
    //   sums  space for groups × group; gets the sums of the codes found
    size_t (*add_up)(const uint8_t* planes, size_t groups, int words, const uint8_t* tables, uint32_t limit,
                     uint32_t* found, uint32_t* sums);

    // Computes the exact distances of some codes, as weigh_one gives them.
    //   codes      count × words
    //   tables     as for weigh_one
    //   distances  space for `count`
    void (*weigh)(const uint64_t* codes, size_t count, int words, int quads, const float* tables, float* distances);
};

// The kernels of the active path.
const Kernels& kernels();

}  // namespace sthash::hamming::weighted
