// Hashes that are keyed with random numbers of the process, so that nobody can choose data that collide.
#pragma once

#include <cstdint>
#include <random>

#include "compiler.hpp"

namespace sthash {

// Two secret numbers per process; the factor is odd, and neither has a pattern of its own to exploit.
struct HashKey {
    uint64_t start, factor;

    static HashKey random() {
        std::random_device device;
        const auto next = [&] { return uint64_t{device()} << 32 | device(); };
        return {next(), next() | 1};
    }
};
inline const HashKey kHashKey = HashKey::random();

// The halves of the product, folded together: every bit of both numbers reaches every bit of the result.
inline uint64_t folded_product(uint64_t a, uint64_t b) {
    const WideProduct product = wide_product(a, b);
    return product.low ^ product.high;
}

}  // namespace sthash
