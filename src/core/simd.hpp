// Which SIMD path the kernels take, and how a kernel is compiled once per path.
//
// A kernel file (*.inc) is written once and compiled once per path:
//
//   #define STHASH_KERNELS "graph/kernels.inc"
//   #define STHASH_FAMILY graph_kernels
//   #include "each_path.inc"
//
// One .cpp file does this per kernel file, so each kernel is compiled once per path and nowhere else. The functions
// have internal linkage; the .cpp file gives them out as STHASH_PICK(graph_kernels::name), which is the function of the
// path that the machine runs. A kernel file includes nothing: a header that is included while a path is compiled would
// be compiled for a newer machine than the one at hand, and the linker might take that copy for all.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler.hpp"
#include "vectors.hpp"

#if STHASH_GNU && defined(__x86_64__)
#define STHASH_X86 1
#define STHASH_TARGET_AVX2 "avx2,bmi,bmi2,popcnt,lzcnt"
#if defined(__clang__)  // which takes the widest vectors anyway
#define STHASH_WIDEST ""
#else
#define STHASH_WIDEST ",prefer-vector-width=512"
#endif
#define STHASH_TARGET_AVX512                                                                         \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,avx512vpopcntdq,avx2,bmi,bmi2,popcnt," \
    "lzcnt" STHASH_WIDEST
#else
#define STHASH_X86 0
#endif

#if STHASH_GNU && defined(__aarch64__)
#define STHASH_ARM 1
#else
#define STHASH_ARM 0
#endif

#if STHASH_X86
#include <immintrin.h>
#elif STHASH_ARM
#include <arm_neon.h>
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

// What `name` is on the active path: a function, or an object. `name` starts with the family of the kernel file.
#if STHASH_X86
#define STHASH_PICK(name)                                                           \
    (::sthash::active_path() == ::sthash::SimdPath::avx512 ? ::sthash::avx512::name \
     : ::sthash::active_path() == ::sthash::SimdPath::avx2 ? ::sthash::avx2::name   \
                                                           : ::sthash::portable::name)
#elif STHASH_ARM
#define STHASH_PICK(name) \
    (::sthash::active_path() == ::sthash::SimdPath::neon ? ::sthash::neon::name : ::sthash::portable::name)
#else
#define STHASH_PICK(name) (::sthash::portable::name)
#endif

namespace sthash {

enum class SimdPath { portable, avx2, avx512, neon };

inline const char* name_of(SimdPath path) {
    switch (path) {
        case SimdPath::avx512:
            return "avx512";
        case SimdPath::avx2:
            return "avx2";
        case SimdPath::neon:
            return "neon";
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
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni") &&
        __builtin_cpu_supports("avx512vpopcntdq"))
        paths.push_back(SimdPath::avx512);
#elif STHASH_ARM
    paths.push_back(SimdPath::neon);  // every 64-bit ARM has it
#endif
    return paths;
}

// The best path of this machine, or the one that the variable STHASH_SIMD names.
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
                             " is not a path of this machine. Unset it or use one of: " + names + ".");
}

// The path that all kernels take. The module sets it once, at import; only tests change it later.
inline std::atomic<SimdPath>& active_path() {
    static constinit std::atomic<SimdPath> path{SimdPath::portable};
    return path;
}

}  // namespace sthash
