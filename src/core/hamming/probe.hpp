// Search in the hash tables, ring by ring, for a group of queries in step.
#pragma once

#include <cstdint>
#include <vector>

#include "hamming/collect.hpp"
#include "hamming/cost.hpp"
#include "hamming/kernels.hpp"
#include "hamming/tables.hpp"

namespace sthash::hamming {

inline double combinations(int n, int k) {
    double result = 1;
    for (int i = 0; i < k; ++i) result = result * (n - i) / (i + 1);
    return k > n ? 0 : result;
}

// What finding everything within `radius` would cost a query, if the codes were spread evenly. Stops at
// `cap`.
inline double probing_cost(const std::vector<Substring>& keys, uint64_t slots, int radius, double cap) {
    const int tables = static_cast<int>(keys.size());
    double cost = 0;
    for (int step = 0; step <= radius && cost < cap; ++step) {
        const int width = keys[step % tables].width;
        const double buckets = combinations(width, step / tables);
        const double mean = static_cast<double>(slots) / static_cast<double>(uint64_t{1} << width);
        cost += CostModel::instance().probes(buckets, buckets * mean, static_cast<double>(slots));
    }
    return cost;
}

// Step j probes table j % s with all keys at distance j / s from the query's; after it, every code within
// distance j has been seen. A code is met once in each table at most, at the step that its substring's
// distance names, and counts at the first such step only: that can be told from the code alone, so no set of
// visited codes is kept.
class Prober {
 public:
    static constexpr size_t kGroup = 32;

    Prober(const Snapshot& snapshot, const Tables& tables)
        : snapshot_(snapshot), tables_(tables), offsets_(kChunk), distances_(kChunk), kernels_(kernels()) {
        for (const Table& table : tables.tables) deepest_ = std::max(deepest_, table.key.width);
    }

    // Searches for up to kGroup queries; those that would cost more than `budget` are left over and appended
    // to `leftovers`. Gives the modelled cost of the work done.
    double search(const uint64_t* queries, const size_t* group, size_t count, Collector* collectors,
                  double budget, std::vector<size_t>& leftovers) {
        const int tables = static_cast<int>(tables_.tables.size());
        const double slots = static_cast<double>(tables_.slots);
        std::vector<Seeker> seekers(count);
        for (size_t i = 0; i < count; ++i)
            seekers[i] = {group[i], queries + group[i] * snapshot_.words, &collectors[group[i]], 0, 0};
        double total = 0;
        for (int step = 0; !seekers.empty() && step / tables <= deepest_; ++step) {
            const int number = step % tables, ring = step / tables;
            const Table& table = tables_.tables[number];
            const double buckets = combinations(table.key.width, ring);
            const double mean = slots / static_cast<double>(table.begins.size() - 1);
            std::erase_if(seekers, [&](const Seeker& seeker) {
                const double spent = CostModel::instance().probes(seeker.buckets, seeker.candidates, slots);
                bool finished = seeker.collector->limit() < step;
                if (!finished) {
                    const double crowd = (seeker.candidates + mean) / (seeker.buckets + 1);
                    finished = spent + CostModel::instance().probes(buckets, buckets * crowd, slots) > budget;
                    if (finished) leftovers.push_back(seeker.query_number);
                }
                if (finished) total += spent;
                return finished;
            });
            for (Seeker& seeker : seekers) enqueue(seeker, table.key, number, ring);
            flush(number, ring);
        }
        for (const Seeker& seeker : seekers)
            total += CostModel::instance().probes(seeker.buckets, seeker.candidates, slots);
        return total;
    }

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
        uint32_t key, begin, end;
    };

    void enqueue(Seeker& seeker, const Substring& key, int number, int ring) {
        if (ring > key.width) return;
        const uint32_t centre = key.of(seeker.query);
        const uint64_t end = uint64_t{1} << key.width;
        // Every number with `ring` bits set, in ascending order.
        for (uint64_t flips = (uint64_t{1} << ring) - 1; flips < end;) {
            probes_.push_back({&seeker, centre ^ static_cast<uint32_t>(flips), 0, 0});
            if (probes_.size() == kProbes) flush(number, ring);
            if (flips == 0) break;
            const uint64_t lowest = flips & (~flips + 1), carried = flips + lowest;
            flips = carried | (((flips ^ carried) >> 2) / lowest);
        }
    }

    // Three passes, so that the cache misses of one overlap.
    void flush(int number, int ring) {
        const Table& table = tables_.tables[number];
        for (const Probe& probe : probes_) __builtin_prefetch(&table.begins[probe.key]);
        for (Probe& probe : probes_) {
            probe.begin = table.begins[probe.key];
            probe.end = table.begins[probe.key + 1];
            probe.seeker->buckets += 1;
            probe.seeker->candidates += probe.end - probe.begin;
            const uint32_t lines = std::min<uint32_t>(probe.end, probe.begin + 64);
            for (uint32_t i = probe.begin; i < lines; i += 8) __builtin_prefetch(&table.prints[i]);
        }
        for (const Probe& probe : probes_) visit(probe, table, number, ring);
        probes_.clear();
    }

    void visit(const Probe& probe, const Table& table, int number, int ring) {
        const Seeker& seeker = *probe.seeker;
        Collector& collector = *seeker.collector;
        for (uint32_t begin = probe.begin; begin < probe.end && !collector.gave_up(); begin += kChunk) {
            const size_t found = kernels_.filter(
                &table.prints[begin], std::min(kChunk, probe.end - begin), 1, seeker.query + table.print_word,
                static_cast<uint32_t>(collector.limit()), offsets_.data(), distances_.data());
            for (size_t i = 0; i < found; ++i) {
                const uint32_t slot = table.slots[begin + offsets_[i]];
                const uint64_t* code = &table.prints[begin + offsets_[i]];
                uint32_t distance = distances_[i];
                if (snapshot_.words > 1) {
                    code = snapshot_.code_of(slot);
                    uint32_t offset;
                    if (kernels_.filter(code, 1, snapshot_.words, seeker.query,
                                        static_cast<uint32_t>(collector.limit()), &offset, &distance) == 0)
                        continue;
                }
                if (met_before(code, seeker.query, number, ring)) continue;
                const Page& page = snapshot_.page_of(slot);
                const uint32_t offset = slot & (kPageSlots - 1);
                if (!page.is_dead(offset)) collector.push(page.id(offset), static_cast<int>(distance));
            }
        }
    }

    bool met_before(const uint64_t* code, const uint64_t* query, int number, int ring) const {
        for (int t = 0; t < static_cast<int>(tables_.tables.size()); ++t) {
            if (t == number) continue;
            const Substring& key = tables_.tables[t].key;
            const int apart = std::popcount(key.of(code) ^ key.of(query));
            if (t < number ? apart <= ring : apart < ring) return true;
        }
        return false;
    }

    const Snapshot& snapshot_;
    const Tables& tables_;
    std::vector<uint32_t> offsets_, distances_;
    std::vector<Probe> probes_;
    const Kernels& kernels_;
    int deepest_ = 0;
};

}  // namespace sthash::hamming
