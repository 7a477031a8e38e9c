// Search in the hash tables, ring by ring, for a group of queries in step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hamming/collect.hpp"
#include "hamming/kernels.hpp"
#include "hamming/tables.hpp"

namespace sthash::hamming {

// What finding everything within `radius` would cost a query, if the codes were spread evenly. Stops at `cap`.
double probing_cost(const std::vector<Substring>& keys, uint64_t slots, int radius, double cap);

// Step j probes table j % s with all keys at distance j / s from the query's; after it, every code within
// distance j has been seen. A code is met once in each table at most, at the step that its substring's
// distance names, and counts at the first such step only: that can be told from the code alone, so no set of
// visited codes is kept.
class Prober {
 public:
    static constexpr size_t kGroup = 32;

    // `radius` is given if it is known beforehand, which it is not for the nearest.
    Prober(const Snapshot& snapshot, const Tables& tables, std::optional<int> radius);

    // Searches for up to kGroup queries; those that would cost more than `budget` are left over and appended
    // to `leftovers`. Gives the modeled cost of the work done.
    double search(const uint64_t* queries, const size_t* group, size_t count, Collector* collectors, double budget,
                  std::vector<size_t>& leftovers);

 private:
    static constexpr uint32_t kChunk = 2048;
    static constexpr size_t kProbes = 256;

    struct Seeker {
        size_t query_number;
        const uint64_t* query;
        Collector* collector;
        double buckets, candidates;
    };
    struct Probe {
        Seeker* seeker;
        int step;
        uint32_t key, begin, end;
    };
    struct Find {  // of a probe; its slot is on the way from memory
        const Probe* probe;
        uint32_t place, distance;
    };

    const Table& table_at(int step) const { return tables_.tables[number_of(step)]; }
    size_t number_of(int step) const { return static_cast<size_t>(step) % tables_.tables.size(); }
    int ring_of(int step) const { return step / static_cast<int>(tables_.tables.size()); }

    // A round is a few steps whose cache misses overlap. The nearest stop early, so only the ring of the
    // equal keys is taken together for them.
    int end_of_round(int step, double& buckets) const;

    void enqueue(Seeker& seeker, int step);

    // Pass by pass over all probes, so that their cache misses overlap.
    void flush();

    void visit(const Probe& probe);
    void take();
    bool met_before(const uint64_t* code, const uint64_t* query, int step) const;

    const Snapshot& snapshot_;
    const Tables& tables_;
    const std::optional<int> radius_;
    std::unique_ptr<uint32_t[]> offsets_, distances_;
    std::vector<Seeker> seekers_;
    std::vector<Probe> probes_;
    std::vector<Find> finds_;
    const Kernels& kernels_;
    int deepest_ = 0, steps_ = 0;
};

}  // namespace sthash::hamming
