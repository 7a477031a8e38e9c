// Scans of runs of codes for a list of queries: bit-sliced for many queries, one by one for few.
#pragma once

#include <cstdint>
#include <vector>

#include "hamming/collect.hpp"
#include "hamming/snapshot.hpp"
#include "parallel.hpp"

namespace sthash::hamming {

// What a scan works on. `in_order`: ids grow along the runs.
struct ScanData {
    std::vector<Run> runs;
    int n_bits, words;
    bool in_order;

    uint64_t slots() const;
};

// All codes from slot `first` on; or a page of codes that were gathered from the snapshot in the order of their slots.
ScanData scan_data(const Snapshot& snapshot, const Page* gathered, uint64_t first);

// Scans everything for `count` queries; with several threads each takes a stretch of the data. `queries` and
// `collectors` are contiguous.
void scan(const ScanData& data, const uint64_t* queries, size_t count, std::vector<Collector>& collectors, int threads,
          StopFlag& stop);

}  // namespace sthash::hamming
