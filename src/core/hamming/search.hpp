// Answers queries on a snapshot: chooses between tables and scans, and spreads the work over threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "hamming/probe.hpp"
#include "hamming/scan.hpp"

namespace sthash::hamming {

enum class Path { automatic, scan, tables };

struct Request {
    Task task;
    size_t k;    // for the nearest
    int radius;  // inclusive; for the nearest a bound
    const uint64_t* queries;
    size_t count;
    int threads;
    Path path;
    size_t most = std::numeric_limits<size_t>::max();  // hits a query, beyond which it is given up
};

// Queries answered by each way, since the index was made.
struct Tally {
    std::atomic<uint64_t> sliced_scan{0}, plain_scan{0}, tables{0}, ball{0};
};

class Search {
 public:
    Search(const Snapshot& snapshot, const Request& request, Tally& tally, StopFlag& stop)
        : snapshot_(snapshot), request_(request), tally_(tally), stop_(stop) {
        if (request.path != Path::scan && snapshot.tables) tables_ = snapshot.tables.get();
    }

    // Restricts the search to a page of codes that were gathered from the snapshot in the order of their
    // slots.
    void restrict_to(const Page& gathered) {
        gathered_ = &gathered;
        tables_ = nullptr;
    }

    // Skips the slots before `first`: for joins, which have met them already.
    void start_at(uint64_t first) { first_ = first; }

    // Calls finish(query, collector) for each query, from several threads.
    template <class Finish>
    void run(Finish&& finish) {
        const int threads = std::max(1, request_.threads);
        const double work =
            scan_cost(first_, snapshot_.slots, request_.count) * static_cast<double>(request_.count);
        // Many queries are dealt out to the threads; few are answered together, each thread scanning a part.
        const bool few = request_.count < kManyQueries * static_cast<size_t>(threads) || work < 100e3;
        const size_t block =
            few ? kBlock : std::min<size_t>(kBlock, (request_.count + threads - 1) / threads);
        parallel_for(request_.count, block, few ? 1 : threads, stop_,
                     [&](size_t begin, size_t end, int) { answer(begin, end, few ? threads : 1, finish); });
    }

    // Time that tables over all slots would have saved, by the model.
    double regret() const { return regret_.load(); }

 private:
    static constexpr size_t kBlock = 1024;
    static constexpr size_t kManyQueries = 32;  // a thread

    double scan_cost(uint64_t first, uint64_t last, size_t queries) const {
        return CostModel::instance().scan(static_cast<double>(last - std::min(first, last)), snapshot_.words,
                                          queries >= CostModel::kBatch);
    }

    ScanData data(uint64_t first) const {
        ScanData result{{}, snapshot_.n_bits, snapshot_.words, snapshot_.sorted};
        if (gathered_ == nullptr)
            result.runs = snapshot_.runs(std::max(first, first_), snapshot_.slots);
        else
            for (uint32_t begin = 0; begin < gathered_->count; begin += kPageSlots)
                result.runs.push_back({gathered_, begin, std::min(kPageSlots, gathered_->count - begin)});
        return result;
    }

    template <class Finish>
    void answer(size_t begin, size_t end, int threads, Finish&& finish) {
        const size_t count = end - begin;
        const uint64_t* queries = request_.queries + begin * snapshot_.words;
        std::vector<Collector> collectors(
            count, Collector(request_.task, request_.k, request_.radius, snapshot_.n_bits));
        for (Collector& collector : collectors) collector.give_up_beyond(request_.most);
        std::vector<size_t> served, leftovers;
        probe(queries, collectors, served, leftovers);
        scan_some(queries, collectors, served, tables_ ? tables_->slots : 0, threads);
        for (size_t q : leftovers) collectors[q].restart();
        scan_some(queries, collectors, leftovers, 0, threads);
        if (stop_.load()) return;
        if (gathered_ == nullptr && first_ == 0) regret_.fetch_add(regret_of(collectors, served, leftovers));
        tally(served.size(), leftovers.size());
        for (size_t q = 0; q < count; ++q) finish(begin + q, collectors[q]);
    }

    // Splits the queries into those that the tables have answered and those that are better scanned.
    void probe(const uint64_t* queries, std::vector<Collector>& collectors, std::vector<size_t>& served,
               std::vector<size_t>& leftovers) {
        std::vector<size_t> order(collectors.size());
        for (size_t q = 0; q < order.size(); ++q) order[q] = q;
        if (tables_ == nullptr) {
            leftovers = std::move(order);
            return;
        }
        const bool forced = request_.path == Path::tables;
        const double scan = scan_cost(0, tables_->slots, request_.count);
        std::atomic<float>& verdict =
            tables_->verdicts[2 * std::bit_width(request_.k) + (request_.count >= CostModel::kBatch)];
        const bool nearest = request_.task == Task::nearest;
        double limit = forced ? std::numeric_limits<double>::infinity() : scan;
        if (!forced && !nearest &&
            probing_cost(tables_->keys(), tables_->slots, request_.radius, scan) >= scan)
            limit = 0;
        if (!forced && nearest && verdict.load() > 1 && tables_->trials.fetch_add(1) % 64 != 0) limit = 0;
        Prober prober(snapshot_, *tables_);
        double spent = 0;
        for (size_t begin = 0; begin < order.size() && !stop_.load(std::memory_order_relaxed);) {
            const size_t count = std::min(Prober::kGroup, order.size() - begin);
            // Once the tables have cost more than scanning would have, the rest is scanned.
            if (spent + static_cast<double>(leftovers.size()) * scan >
                    scan * static_cast<double>(begin) + scan * 8 &&
                !forced)
                limit = 0;
            if (limit == 0) {
                leftovers.insert(leftovers.end(), order.begin() + static_cast<ptrdiff_t>(begin), order.end());
                break;
            }
            const size_t before = leftovers.size();
            const Stopwatch watch;
            const double cost =
                prober.search(queries, &order[begin], count, collectors.data(), limit, leftovers);
            CostModel::instance().observe(Work::probes, cost, watch.nanoseconds());
            spent += cost;
            if (nearest) {
                const double all = cost + static_cast<double>(leftovers.size() - before) * scan;
                const float weight = std::min(1.0f, 0.1f * static_cast<float>(count));
                const float ratio = static_cast<float>(all / (scan * static_cast<double>(count)));
                verdict.store(verdict.load() * (1 - weight) + ratio * weight);
            }
            begin += count;
        }
        std::vector<bool> left(order.size());
        for (size_t q : leftovers) left[q] = true;
        for (size_t q : order)
            if (!left[q]) served.push_back(q);
    }

    void scan_some(const uint64_t* queries, std::vector<Collector>& collectors,
                   const std::vector<size_t>& chosen, uint64_t first, int threads) {
        if (chosen.empty()) return;
        const ScanData part = data(first);
        if (chosen.size() == collectors.size()) {
            scan(part, queries, collectors.size(), collectors, threads, stop_);
            return;
        }
        const size_t words = static_cast<size_t>(snapshot_.words);
        std::vector<uint64_t> packed;
        std::vector<Collector> moved;
        for (size_t q : chosen) {
            packed.insert(packed.end(), queries + q * words, queries + (q + 1) * words);
            moved.push_back(std::move(collectors[q]));
        }
        scan(part, packed.data(), chosen.size(), moved, threads, stop_);
        for (size_t i = 0; i < chosen.size(); ++i) collectors[chosen[i]] = std::move(moved[i]);
    }

    // Scanned queries could have been probed had there been tables; probed ones also had to scan the tail.
    double regret_of(const std::vector<Collector>& collectors, const std::vector<size_t>& served,
                     const std::vector<size_t>& leftovers) const {
        if (tables_ != nullptr)
            return scan_cost(tables_->slots, snapshot_.slots, request_.count) *
                   static_cast<double>(served.size());
        const double scan = scan_cost(0, snapshot_.slots, request_.count);
        const std::vector<Substring> keys = choose_substrings(snapshot_.n_bits, snapshot_.slots);
        std::vector<double> saved(static_cast<size_t>(snapshot_.n_bits) + 1, -1);
        double sum = 0;
        for (size_t q : leftovers) {
            const size_t radius = static_cast<size_t>(std::max(0, collectors[q].limit()));
            if (saved[radius] < 0)
                saved[radius] =
                    std::max(0.0, scan - probing_cost(keys, snapshot_.slots, static_cast<int>(radius), scan));
            sum += saved[radius];
        }
        return sum;
    }

    void tally(uint64_t served, uint64_t scanned) {
        (tables_ && tables_->tables.size() == 1 ? tally_.ball : tally_.tables) += served;
        (scanned >= CostModel::kBatch ? tally_.sliced_scan : tally_.plain_scan) += scanned;
    }

    const Snapshot& snapshot_;
    const Request& request_;
    Tally& tally_;
    StopFlag& stop_;
    const Tables* tables_ = nullptr;
    const Page* gathered_ = nullptr;
    uint64_t first_ = 0;
    std::atomic<double> regret_{0};
};

}  // namespace sthash::hamming
