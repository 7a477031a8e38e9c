// What a query has found so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace sthash::hamming {

struct Hit {
    int64_t id;
    int32_t distance;
    friend bool operator<(const Hit& a, const Hit& b) {
        return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
    }
};

// The k nearest, all within a radius, or only how many they are.
enum class Task { nearest, radius, count };

// Collects the hits of one query. For the k nearest, a histogram of the distances tightens the limit with every hit, so
// no heap is needed: stale hits are swept out when they have piled up.
class Collector {
 public:
    Collector(Task task, size_t k, int radius, int n_bits);

    // Hits farther than this are of no interest.
    int limit() const { return limit_; }
    // The same, when all codes still to come have greater ids than those seen: a tie cannot win any more.
    int limit_of_later() const { return task_ == Task::nearest && held_ >= k_ ? limit_ - 1 : limit_; }
    uint64_t count() const { return count_; }

    // Gives up when more than `most` hits have come, so that memory stays bounded.
    void give_up_beyond(size_t most) { most_ = most; }
    bool gave_up() const { return limit_ < 0; }

    void push(int64_t id, int distance);
    void merge(const Collector& other);

    // Forgets the hits but keeps the limit, which stays right for as long as the hits will be found again.
    void restart();

    // The hits in the order (distance, id), the k best of them if k nearest were asked for.
    std::vector<Hit>& finish();

 private:
    static constexpr size_t kMany = size_t{1} << 40;

    void tighten();
    void sweep();

    Task task_;
    size_t k_;
    int limit_;
    size_t sweep_at_;
    size_t most_ = std::numeric_limits<size_t>::max();
    size_t held_ = 0;  // hits within the limit
    uint64_t count_ = 0;
    std::vector<uint32_t> histogram_;
    std::vector<Hit> hits_;
};

// Takes what each query has found, from several threads: the number of the query, and its hits.
using Finish = std::function<void(size_t query, Collector& collector)>;

}  // namespace sthash::hamming
