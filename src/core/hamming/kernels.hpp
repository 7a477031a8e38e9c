// The Hamming kernels, and the batch of queries that the bit-sliced scan works on.
//
// The bit-sliced scan turns a block of 128 to 512 codes into bit planes and counts, for all of them at once,
// the bits that differ from a query with a network of full adders. Two things make it cheap. The counters
// start at 2^b - 1 - limit, so that their overflow is the comparison with the limit. And the whole first
// layer of adders is looked up: its inputs are planes or sums of planes, a query can only flip their signs,
// so each carry has eight values per block, computed once and shared by all queries.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sthash::hamming {

// Takes `count` hits of one query: offsets of codes from the first code of the scan, and their distances, both owned by
// the kernel. Returns the new limit of the query: codes farther than it are of no more interest, none if negative.
// `context` is what the caller of the kernel gave.
using HitSink = int (*)(void* context, size_t query, const uint32_t* offsets, const uint32_t* distances, size_t count);

// Queries of one batch, with what the bit-sliced scan looks up for them. Every limit starts at -1: no code is wanted.
class BatchQueries {
 public:
    // queries: count × ceil(n_bits / 64) words, which must outlive the batch. lanes: Kernels::lanes of the kernel that
    // will scan.
    BatchQueries(const uint64_t* queries, size_t count, int n_bits, int lanes)
        : queries(queries),
          count(count),
          words((n_bits + 63) / 64),
          planes(n_bits <= 16   ? 16
                 : n_bits <= 32 ? 32
                                : 64 * words),
          units(std::max(1, planes / 64)),
          counter_bits(std::bit_width(static_cast<unsigned>(planes - 1))),
          limits(count, -1),
          lanes_(lanes),
          picks_(count * adders()),
          seeds_(static_cast<size_t>(planes) * kSeeds),
          scratch_(static_cast<size_t>(planes) * 64 * 6 + 64) {
        for (int limit = 0; limit < planes; ++limit)
            for (int j = 1; j < counter_bits; ++j)
                seeds_[limit * kSeeds + j - 1] = uint64_t{0} - (seed(limit) >> j & 1);
        std::vector<uint8_t> sign(planes + adders());
        for (size_t q = 0; q < count; ++q) {
            for (int p = 0; p < planes; ++p) sign[p] = (queries[q * words + p / 64] >> (p % 64)) & 1;
            for (int i = 0; i < adders(); ++i) {
                const bool last = i + 1 == adders();
                const uint8_t c = last ? 0 : sign[3 * i + 2];
                sign[planes + i] = sign[3 * i] ^ sign[3 * i + 1] ^ c;
                picks_[q * adders() + i] =
                    static_cast<uint16_t>(lanes * (8 * i + sign[3 * i] + 2 * sign[3 * i + 1] + 4 * c));
            }
        }
    }

    // Codes at most `limit` away from query q are wanted. Limits of at least `planes` let everything pass and need no
    // counting.
    void set_limit(size_t q, int limit) {
        if (limits[q] == limit) return;
        limits[q] = limit;
        uint16_t& last = picks_[(q + 1) * adders() - 1];
        const uint32_t lowest = seed(std::clamp(limit, 0, planes - 1)) & 1;
        last = static_cast<uint16_t>((last & ~(4u * lanes_)) | lowest * 4 * lanes_);
    }

    const uint16_t* picks_of(size_t q) const { return &picks_[q * adders()]; }
    const uint64_t* seeds_of(int limit) const { return &seeds_[static_cast<size_t>(limit) * kSeeds]; }
    void* scratch() {  // planes, sums and carries of one block, aligned to a cache line
        const auto address = reinterpret_cast<uintptr_t>(scratch_.data());
        return scratch_.data() + ((64 - address % 64) % 64);
    }

    const uint64_t* queries;
    const size_t count;
    const int words, planes, units, counter_bits;
    std::vector<int> limits;

 private:
    static constexpr int kSeeds = 10;  // bits of a counter for up to 1024; the lowest is in the picks
    uint32_t seed(int limit) const { return (1u << counter_bits) - 1 - static_cast<uint32_t>(limit); }
    int adders() const { return planes / 2; }

    const uint32_t lanes_;
    std::vector<uint16_t> picks_;
    std::vector<uint64_t> seeds_;
    std::vector<unsigned char> scratch_;
};

// The kernels of one SIMD path. A code has `words` words of 64 bits.
struct Kernels {
    // 64-bit lanes per vector.
    int lanes;

    // Finds the codes at most `limit` bits from one query.
    //   codes      count × words
    //   query      words
    //   offsets    space for `count`; gets the numbers of the codes found, in any order
    //   distances  space for `count`; gets their distances
    // Returns how many were found. What is behind them in `offsets` and `distances` is overwritten.
    size_t (*filter)(const uint64_t* codes, size_t count, int words, const uint64_t* query, uint32_t limit,
                     uint32_t* offsets, uint32_t* distances);

    // Finds the codes within the limits of a batch of queries, bit-sliced.
    //   codes    count × batch.words
    //   batch    the limits are changed to what the sink returns
    //   sink     called with `context` for each query and block of codes that has hits
    void (*scan_batch)(const uint64_t* codes, uint32_t count, BatchQueries& batch, HitSink sink, void* context);
};

// The kernels of the active path.
const Kernels& kernels();

}  // namespace sthash::hamming
