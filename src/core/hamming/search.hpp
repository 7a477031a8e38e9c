// Answers queries on a snapshot: chooses between tables and scans, and spreads the work over threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "hamming/collect.hpp"
#include "hamming/snapshot.hpp"
#include "parallel.hpp"

namespace sthash::hamming {

// How an index may search: by what seems cheapest, never by tables, or by tables alone.
enum class Strategy { automatic, scan, tables };

// What is asked of an index. The caller owns the queries.
struct Request {
    Task task;
    size_t k;                 // for the nearest
    int radius;               // inclusive; for the nearest a bound
    const uint64_t* queries;  // count × words
    size_t count;
    int threads;
    Strategy strategy;
    size_t most = std::numeric_limits<size_t>::max();  // hits per query, beyond which the query is given up
};

// Queries answered by each way, since the index was made.
struct Tally {
    std::atomic<uint64_t> sliced_scan{0}, plain_scan{0}, tables{0}, ball{0}, weighted{0};
};

// What of a snapshot is searched: all of it, or a page of codes that were gathered from it in the order of their slots,
// or the slots from `first` on, for joins, which have met the others already.
struct Part {
    const Page* gathered = nullptr;
    uint64_t first = 0;
};

// Calls finish(query, collector) for each query, from several threads. Returns the time that tables over all slots
// would have saved, by the model.
double search_snapshot(const Snapshot& snapshot, const Part& part, const Request& request, Tally& tally, StopFlag& stop,
                       const Finish& finish);

// What the request will cost on one thread, by the model: for the nearest, no more than this.
double foreseen(const Snapshot& snapshot, const Part& part, const Request& request);

}  // namespace sthash::hamming
