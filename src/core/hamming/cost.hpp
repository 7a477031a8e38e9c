// The cost model that chooses between scanning and probing, in nanoseconds.
//
// The figures below are those of one core of a server with AVX-512; what this machine makes of them is learned
// from the calls themselves, as one factor per kind of work. A wrong factor costs time, never an answer.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace sthash::hamming {

enum class Work { batch_scan, single_scan, probes, build };

class CostModel {
 public:
    // Queries per thread from which on the bit-sliced scan pays for its transposition.
    static constexpr size_t kBatch = 12;

    static CostModel& instance() {
        static CostModel model;
        return model;
    }

    // One query against `slots` codes of `words` words; `batched` with many others.
    double scan(double slots, int words, bool batched) const {
        const double path = active_path() == SimdPath::avx512 ? 1 : active_path() == SimdPath::avx2 ? 2 : 4;
        if (batched) return slots * words * 0.034 * path * factor(Work::batch_scan);
        const double bytes = slots * words * 8;
        const double from_memory = bytes < (1 << 20) ? 0.09 : bytes < (24 << 20) ? 0.25 : 0.6;
        const double wider = words > 1 ? 1.6 : 1.0;
        return slots * words * std::max(from_memory, 0.09 * wider * path * path) * factor(Work::single_scan);
    }

    // `buckets` probed and `candidates` looked at in tables over `slots` codes.
    double probes(double buckets, double candidates, double slots) const {
        const double bytes = slots * 12;
        const double miss = bytes < (1 << 20) ? 12 : bytes < (16 << 20) ? 30 : bytes < (64 << 20) ? 40 : 80;
        return (buckets * miss + candidates * 0.4) * factor(Work::probes);
    }

    double build(double slots, int tables) const {
        return slots * tables * (slots < (1 << 20) ? 8 : 25) * factor(Work::build);
    }

    // Learns from a piece of work that was predicted to take `expected` and took `actual`, with `hits` taken
    // on the way. Those cost the same whichever way is chosen, so where they dominate there is nothing to
    // learn.
    void observe(Work work, double expected, double actual, double hits = 0) {
        constexpr double kShort = 20e3, kHit = 10;
        if (expected < kShort || hits * kHit > 0.1 * expected) return;
        const double ratio = std::clamp(actual / expected, 0.5, 2.0);
        scale(work, [ratio](double old) { return old * std::pow(ratio, 0.2); });
    }

    // Forgets a little of what was learned of work that is not being done, lest a bad moment rule it out for
    // ever.
    void relax(Work work) {
        scale(work, [](double old) { return std::pow(old, 0.99); });
    }

    double factor(Work work) const { return factors_[static_cast<int>(work)].load(std::memory_order_relaxed); }

 private:
    template <class Change>
    void scale(Work work, Change&& change) {
        std::atomic<double>& value = factors_[static_cast<int>(work)];
        const double old = value.load(std::memory_order_relaxed);
        value.store(std::clamp(change(old), 0.2, 5.0), std::memory_order_relaxed);
    }

    std::atomic<double> factors_[4] = {1.0, 1.0, 1.0, 1.0};
};

class Stopwatch {
 public:
    double nanoseconds() const {
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_).count();
    }

 private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sthash::hamming
