// The cost model that chooses between scanning and probing, in nanoseconds.
//
// The figures below are those of one core of a server with AVX-512; what this machine makes of them is learned
// from the calls themselves, as one factor per kind of work. A wrong factor costs time, never an answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace sthash::hamming {

enum class Work { batch_scan, single_scan, probes, build };

class CostModel {
 public:
    // Queries per thread from which on the bit-sliced scan pays for its transposition.
    static constexpr size_t kBatch = 12;

    static CostModel& instance();

    // One query against `slots` codes of `words` words; `batched` with many others.
    double scan(double slots, int words, bool batched) const;

    // `buckets` probed and `candidates` looked at in tables over `slots` codes.
    double probes(double buckets, double candidates, double slots) const;

    double build(double slots, int tables) const;

    // Learns from a piece of work that was predicted to take `expected` and took `actual`, with `hits` taken on the
    // way. Those cost the same whichever way is chosen, so where they dominate there is nothing to learn.
    void observe(Work work, double expected, double actual, double hits = 0);

    // Forgets a little of what was learned of work that is not being done, lest a bad moment rule it out for ever.
    void relax(Work work);

    double factor(Work work) const { return factors_[static_cast<int>(work)].load(std::memory_order_relaxed); }

 private:
    template <class Change>
    void scale(Work work, Change&& change);

    std::atomic<double> factors_[4] = {1.0, 1.0, 1.0, 1.0};
};

class Stopwatch {
 public:
    double nanoseconds() const;

 private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sthash::hamming
