// Kernels of weighted search, and the queries that they work on.
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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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

// Memory that planes and tables are kept in.
struct alignas(64) Line {
    uint8_t bytes[64];
};

// Some queries with their tables.
class Queries {
 public:
    // codes: count × ceil(n_bits / 64) words, which must outlive the queries. weights: count × n_bits, not negative.
    Queries(const uint64_t* codes, const float* weights, size_t count, int n_bits)
        : kernels_(kernels()),
          n_bits_(n_bits),
          words_((n_bits + 63) / 64),
          quads_((n_bits + 15) / 16),
          lines_((static_cast<size_t>(words_ * kernels_.parts_of_word) << kernels_.part_bits) / 64 + 1),
          codes_(codes),
          weights_(count * words_ * 64),
          exact_(count * quads_ * 64),
          bounds_(count * lines_),
          scales_(count),
          limits_(count) {
        for (size_t q = 0; q < count; ++q) {
            std::copy_n(weights + q * n_bits, n_bits, &weights_[q * words_ * 64]);
            for (int n = 0; n < 4 * quads_; ++n) build_exact(q, n);
        }
    }

    const uint64_t* code(size_t q) const { return codes_ + q * words_; }

    float weigh_one(size_t q, const uint64_t* code) const { return weighted::weigh_one(code, quads_, exact(q)); }

    void weigh(size_t q, const uint64_t* codes, size_t count, float* distances) const {
        kernels_.weigh(codes, count, words_, quads_, exact(q), distances);
    }

    // Finds the codes of split groups that may be within the limit: all that are, and few others. See Kernels::filter.
    size_t filter(size_t q, float limit, const uint8_t* planes, size_t groups, uint32_t* found) {
        if (limit != limits_[q] || scales_[q] == 0) set_limit(q, limit);
        const uint32_t most = static_cast<uint32_t>(limit * scales_[q] * kSlack);
        return kernels_.filter(planes, groups, n_bits_, bounds_[q * lines_].bytes, most, found);
    }

 private:
    // Far more than rounding can add to a lower bound.
    static constexpr float kSlack = 1.0001f;

    const float* exact(size_t q) const { return &exact_[q * quads_ * 64]; }

    void build_exact(size_t q, int n) {
        const uint64_t* query = code(q);
        float* table = &exact_[q * quads_ * 64 + n * 16];
        table[0] = 0;
        for (int b = 0; b < 4; ++b) {
            const float weight = weights_[q * words_ * 64 + 4 * n + b];
            const bool on = query[n / 16] >> (n % 16 * 4 + b) & 1;
            for (int x = 0; x < 1 << b; ++x) {
                table[x + (1 << b)] = table[x] + (on ? 0 : weight);
                table[x] += on ? weight : 0;
            }
        }
    }

    // The scale is renewed when the limit has fallen so far that the bounds have become coarse. Bytes over the whole
    // code stand for up to the limit; bytes over a word each for twice the limit's even share.
    void set_limit(size_t q, float limit) {
        constexpr float kLeast = 1e-30f, kCoarse = 0.8f;
        const float capacity = words_ <= kShort ? 254.0f : 127.0f * static_cast<float>(words_);
        limits_[q] = limit;
        if (limit * scales_[q] > kCoarse * capacity && scales_[q] > 0) return;
        scales_[q] = capacity / std::max(limit, kLeast);
        kernels_.build_bounds(code(q), &weights_[q * words_ * 64], words_, scales_[q], bounds_[q * lines_].bytes);
    }

    const Kernels& kernels_;
    const int n_bits_, words_, quads_;
    const size_t lines_;
    const uint64_t* codes_;
    std::vector<float> weights_, exact_;
    std::vector<Line> bounds_;
    std::vector<float> scales_, limits_;
};

}  // namespace sthash::hamming::weighted
