// Which SIMD path the kernels take, and how a kernel is compiled once for each path.
//
// A kernel file (*.inc) is written once, in plain functions over GCC's vector types, and compiled once for
// each path by each_path.inc; STHASH_DISPATCH calls the one that the machine runs. A kernel file includes
// nothing and has no templates, so that no inline function of a header is ever compiled for a newer machine
// than the one at hand.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__x86_64__)
#define STHASH_X86 1
#define STHASH_TARGET_AVX2 "avx2,bmi,bmi2,popcnt,lzcnt"
#define STHASH_TARGET_AVX512 \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq,prefer-vector-width=512,avx2,bmi,bmi2,popcnt,lzcnt"
#else
#define STHASH_X86 0
#endif

#define STHASH_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define STHASH_TARGET_BEGIN(features) \
    STHASH_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define STHASH_TARGET_END _Pragma("clang attribute pop")
#else
#define STHASH_TARGET_BEGIN(features) STHASH_PRAGMA(GCC push_options) STHASH_PRAGMA(GCC target(features))
#define STHASH_TARGET_END _Pragma("GCC pop_options")
#endif

#if STHASH_X86
#define STHASH_DISPATCH(call)                \
    switch (::sthash::active_path()) {       \
        case ::sthash::SimdPath::avx512:     \
            return ::sthash::avx512::call;   \
        case ::sthash::SimdPath::avx2:       \
            return ::sthash::avx2::call;     \
        default:                             \
            return ::sthash::portable::call; \
    }
#else
#define STHASH_DISPATCH(call) return ::sthash::portable::call;
#endif

namespace sthash {

enum class SimdPath { portable, avx2, avx512 };

inline const char* name_of(SimdPath path) {
    switch (path) {
        case SimdPath::avx512:
            return "avx512";
        case SimdPath::avx2:
            return "avx2";
        default:
            return "portable";
    }
}

inline std::vector<SimdPath> available_paths() {
    std::vector<SimdPath> paths{SimdPath::portable};
#if STHASH_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    if (avx2) paths.push_back(SimdPath::avx2);
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vpopcntdq"))
        paths.push_back(SimdPath::avx512);
#endif
    return paths;
}

// The best path of this machine, or the one that the variable STHASH_SIMD names. Read once, at import.
inline SimdPath choose_path() {
    const std::vector<SimdPath> paths = available_paths();
    const char* wanted = std::getenv("STHASH_SIMD");
    if (wanted == nullptr || *wanted == '\0') return paths.back();
    std::string names;
    for (SimdPath path : paths) {
        if (std::string(name_of(path)) == wanted) return path;
        names += (names.empty() ? "" : ", ") + std::string(name_of(path));
    }
    throw std::runtime_error("STHASH_SIMD=" + std::string(wanted) +
                             " is no path of this machine; unset it or use one of: " + names);
}

inline SimdPath& active_path() {
    static SimdPath path = SimdPath::portable;
    return path;
}

}  // namespace sthash
