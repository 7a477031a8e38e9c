// The vector types that kernel files are written over.
//
//   STHASH_VECTOR(Scores, float, 64, aligned(4));
//
// makes `Scores` a vector of floats in 64 bytes. Where the compiler has vector types it is one of them, with the
// attributes that follow; elsewhere it is a PlainVector, which does the same to the bit. Both know the operators of
// their numbers, lane by lane and with one number for all lanes; comparisons give lanes of -1 or 0; a cast to a vector
// of the same size keeps the bits. STHASH_CHOOSE(mask, a, b) takes the lanes of `a` where those of the mask are not 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "compiler.hpp"

namespace sthash {

// Floats that kernels keep side by side: rows of weights are padded to a multiple of it.
inline constexpr int kLanesInGroup = 16;

}  // namespace sthash

#if STHASH_GNU
#define STHASH_VECTOR(name, type, bytes, ...) typedef type name __attribute__((vector_size(bytes), __VA_ARGS__))
#define STHASH_CHOOSE(mask, a, b) ((mask) ? (a) : (b))
#else
#define STHASH_VECTOR(name, type, bytes, ...) using name = ::sthash::PlainVector<type, (bytes) / sizeof(type)>
#define STHASH_CHOOSE(mask, a, b) ::sthash::choose(mask, a, b)

namespace sthash {

template <class T, size_t N>
struct PlainVector {
    using Signed = std::conditional_t<sizeof(T) == 4, int, long long>;
    using Mask = PlainVector<Signed, N>;

    T lanes[N];

    T& operator[](size_t i) { return lanes[i]; }
    const T& operator[](size_t i) const { return lanes[i]; }

    template <class U, size_t M>
    explicit operator PlainVector<U, M>() const {
        static_assert(sizeof(PlainVector<U, M>) == sizeof(PlainVector));
        PlainVector<U, M> result;
        std::memcpy(&result, this, sizeof result);
        return result;
    }

    template <class Result = PlainVector, class Operation>
    static Result each(Operation&& operation) {
        Result result;
        for (size_t i = 0; i < N; ++i) result.lanes[i] = operation(i);
        return result;
    }

    PlainVector operator~() const {
        return each([&](size_t i) { return static_cast<T>(~lanes[i]); });
    }

#define STHASH_OPERATOR(op)                                                                     \
    friend PlainVector operator op(const PlainVector& a, const PlainVector& b) {                \
        return each([&](size_t i) { return static_cast<T>(a.lanes[i] op b.lanes[i]); });        \
    }                                                                                           \
    template <class U>                                                                          \
        requires std::is_arithmetic_v<U>                                                        \
    friend PlainVector operator op(const PlainVector& a, U b) {                                 \
        return each([&](size_t i) { return static_cast<T>(a.lanes[i] op static_cast<T>(b)); }); \
    }                                                                                           \
    template <class U>                                                                          \
    PlainVector& operator op## = (const U& b) {                                                 \
        return *this = *this op b;                                                              \
    }
    STHASH_OPERATOR(+)
    STHASH_OPERATOR(-)
    STHASH_OPERATOR(*)
    STHASH_OPERATOR(&)
    STHASH_OPERATOR(|)
    STHASH_OPERATOR(^)
    STHASH_OPERATOR(<<)
    STHASH_OPERATOR(>>)
#undef STHASH_OPERATOR

#define STHASH_COMPARISON(op)                                                           \
    friend Mask operator op(const PlainVector& a, const PlainVector& b) {               \
        return each<Mask>([&](size_t i) { return a.lanes[i] op b.lanes[i] ? -1 : 0; }); \
    }                                                                                   \
    friend Mask operator op(const PlainVector& a, T b) {                                \
        return each<Mask>([&](size_t i) { return a.lanes[i] op b ? -1 : 0; });          \
    }
    STHASH_COMPARISON(<)
    STHASH_COMPARISON(<=)
    STHASH_COMPARISON(>)
    STHASH_COMPARISON(>=)
    STHASH_COMPARISON(!=)
#undef STHASH_COMPARISON
};

template <class M, class T, size_t N>
PlainVector<T, N> choose(const M& mask, const PlainVector<T, N>& a, const PlainVector<T, N>& b) {
    return PlainVector<T, N>::each([&](size_t i) { return mask.lanes[i] != 0 ? a.lanes[i] : b.lanes[i]; });
}

}  // namespace sthash
#endif
