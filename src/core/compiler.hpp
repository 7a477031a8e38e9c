// What differs between compilers, in one place. GCC and Clang have vector types and functions per processor; a compiler
// without them (MSVC), or one that is told so by STHASH_PLAIN, gets the same kernels as plain loops.
#pragma once

#include <cstdint>

#if !defined(STHASH_PLAIN) && defined(__GNUC__) && !defined(_MSC_VER)
#define STHASH_GNU 1
#else
#define STHASH_GNU 0
#endif

#if STHASH_GNU
#define STHASH_INLINE inline __attribute__((always_inline))
#define STHASH_NOINLINE __attribute__((noinline))
#define STHASH_PREFETCH(address) __builtin_prefetch(address)
#elif defined(_MSC_VER)
#define STHASH_INLINE __forceinline
#define STHASH_NOINLINE __declspec(noinline)
#define STHASH_PREFETCH(address) static_cast<void>(address)
#else
#define STHASH_INLINE inline
#define STHASH_NOINLINE
#define STHASH_PREFETCH(address) static_cast<void>(address)
#endif

namespace sthash {

// The 128 bits of a product.
struct WideProduct {
    uint64_t low, high;
};

inline WideProduct wide_product(uint64_t a, uint64_t b) {
#if STHASH_GNU
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return {static_cast<uint64_t>(product), static_cast<uint64_t>(product >> 64)};
#else
    constexpr uint64_t kHalf = 0xFFFFFFFFu;
    const uint64_t low = (a & kHalf) * (b & kHalf), left = (a >> 32) * (b & kHalf), right = (a & kHalf) * (b >> 32);
    const uint64_t middle = (low >> 32) + (left & kHalf) + (right & kHalf);
    return {a * b, (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32)};
#endif
}

}  // namespace sthash
