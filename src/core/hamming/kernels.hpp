// The Hamming kernels, and the batch of queries that the bit-sliced scan works on.
//
// The bit-sliced scan turns a block of 128 to 512 codes into bit planes and counts, for all of them at once,
// the bits that differ from a query with a network of full adders. Two things make it cheap. The counters
// start at 2^b - 1 - limit, so that their overflow is the comparison with the limit. And the whole first
// layer of adders is looked up: its inputs are planes or sums of planes, a query can only flip their signs,
// so each carry has eight values per block, computed once and shared by all queries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sthash::hamming {

// Memory that is aligned for the widest vectors.
struct alignas(64) Line {
    uint8_t bytes[64];
};

// Takes `count` hits of one query: offsets of codes from the first code of the scan, and their distances, both owned by
// the kernel. Returns the new limit of the query: codes farther than it are of no more interest, none if negative.
// `context` is what the caller of the kernel gave.
using HitSink = int (*)(void* context, size_t query, const uint32_t* offsets, const uint32_t* distances, size_t count);

// Queries of one batch, with what the bit-sliced scan looks up for them. Every limit starts at -1: no code is wanted.
class BatchQueries {
 public:
    // queries: count × ceil(n_bits / 64) words, which must outlive the batch. lanes: Kernels::lanes of the kernel that
    // will scan.
    BatchQueries(const uint64_t* queries, size_t count, int n_bits, int lanes);

    // Codes at most `limit` away from query q are wanted. Limits of at least `planes` let everything pass and need no
    // counting.
    void set_limit(size_t q, int limit);

    const uint16_t* picks_of(size_t q) const { return &picks_[q * adders()]; }
    const uint64_t* seeds_of(int limit) const { return &seeds_[static_cast<size_t>(limit) * kSeeds]; }
    void* scratch() { return scratch_.data(); }  // planes, sums and carries of one block

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
    std::vector<Line> scratch_;
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
