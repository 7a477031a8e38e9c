// The k nearest by weighted distance: a scan whose lower bounds leave few codes to be weighed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "hamming/scan.hpp"
#include "parallel.hpp"

namespace sthash::hamming::weighted {

// What is asked of an index. The caller owns the arrays.
struct Request {
    size_t k;
    int radius;               // bits that may differ, whatever they weigh
    const uint64_t* queries;  // count × words
    const float* weights;     // count × n_bits, not negative
    size_t count;
    int threads;
};

struct Hit {
    int64_t id;
    float distance;
    friend bool operator<(const Hit& a, const Hit& b) {
        return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
    }
};

// The k best hits of a query. As many again may pile up before the rest is thrown away.
class Collector {
 public:
    explicit Collector(size_t k) : k_(k), most_(std::max<size_t>(16, k < kMany ? 2 * k : k)) {}

    // Hits farther than this are of no interest; infinite until k are held.
    float limit() const { return worst_.distance; }

    void push(int64_t id, float distance);
    void merge(const Collector& other);

    // The hits in the order (distance, id).
    std::vector<Hit>& finish();

 private:
    static constexpr size_t kMany = size_t{1} << 40;

    void cut();

    size_t k_, most_;
    Hit worst_{std::numeric_limits<int64_t>::max(), std::numeric_limits<float>::infinity()};
    std::vector<Hit> hits_;
};

// Nanoseconds on one thread, roughly: to split the codes, and to filter them for each query.
double foreseen(uint64_t slots, int words, size_t queries);

// Takes what each query has found, from several threads: the number of the query, and its hits.
using Finish = std::function<void(size_t query, Collector& collector)>;

void search(const ScanData& data, const Request& request, StopFlag& stop, const Finish& finish);

}  // namespace sthash::hamming::weighted
