#include "hamming/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "simd.hpp"

#define STHASH_KERNELS "hamming/kernels.inc"
#define STHASH_FAMILY hamming_kernels
#include "each_path.inc"

namespace sthash::hamming {

BatchQueries::BatchQueries(const uint64_t* queries, size_t count, int n_bits, int lanes)
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
      scratch_(static_cast<size_t>(planes) * 6) {
    for (int limit = 0; limit < planes; ++limit)
        for (int j = 1; j < counter_bits; ++j) seeds_[limit * kSeeds + j - 1] = uint64_t{0} - (seed(limit) >> j & 1);
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

void BatchQueries::set_limit(size_t q, int limit) {
    if (limits[q] == limit) return;
    limits[q] = limit;
    uint16_t& last = picks_[(q + 1) * adders() - 1];
    const uint32_t lowest = seed(std::clamp(limit, 0, planes - 1)) & 1;
    last = static_cast<uint16_t>((last & ~(4u * lanes_)) | lowest * 4 * lanes_);
}

const Kernels& kernels() {
    return STHASH_PICK(hamming_kernels::kKernels);
}

}  // namespace sthash::hamming
