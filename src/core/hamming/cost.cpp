#include "hamming/cost.hpp"

#include <algorithm>
#include <cmath>

#include "simd.hpp"

namespace sthash::hamming {

CostModel& CostModel::instance() {
    static CostModel model;
    return model;
}

double CostModel::scan(double slots, int words, bool batched) const {
    const double path = active_path() == SimdPath::avx512 ? 1 : active_path() == SimdPath::avx2 ? 2 : 4;
    if (batched) return slots * words * 0.034 * path * factor(Work::batch_scan);
    const double bytes = slots * words * 8;
    const double from_memory = bytes < (1 << 20) ? 0.09 : bytes < (24 << 20) ? 0.25 : 0.6;
    const double wider = words > 1 ? 1.6 : 1.0;
    return slots * words * std::max(from_memory, 0.09 * wider * path * path) * factor(Work::single_scan);
}

double CostModel::probes(double buckets, double candidates, double slots) const {
    const double bytes = slots * 12;
    const double miss = bytes < (1 << 20) ? 12 : bytes < (16 << 20) ? 30 : bytes < (64 << 20) ? 40 : 80;
    return (buckets * miss + candidates * 0.4) * factor(Work::probes);
}

double CostModel::build(double slots, int tables) const {
    return slots * tables * (slots < (1 << 20) ? 8 : 25) * factor(Work::build);
}

template <class Change>
void CostModel::scale(Work work, Change&& change) {
    std::atomic<double>& value = factors_[static_cast<int>(work)];
    const double old = value.load(std::memory_order_relaxed);
    value.store(std::clamp(change(old), 0.2, 5.0), std::memory_order_relaxed);
}

void CostModel::observe(Work work, double expected, double actual, double hits) {
    constexpr double kShort = 20e3, kHit = 10;
    if (expected < kShort || hits * kHit > 0.1 * expected) return;
    const double ratio = std::clamp(actual / expected, 0.5, 2.0);
    scale(work, [ratio](double old) { return old * std::pow(ratio, 0.2); });
}

void CostModel::relax(Work work) {
    scale(work, [](double old) { return std::pow(old, 0.99); });
}

double Stopwatch::nanoseconds() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace sthash::hamming
