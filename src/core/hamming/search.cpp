#include "hamming/search.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <vector>

#include "hamming/cost.hpp"
#include "hamming/probe.hpp"
#include "hamming/scan.hpp"
#include "hamming/tables.hpp"

namespace sthash::hamming {

namespace {

const Tables* tables_for(const Snapshot& snapshot, const Part& part, const Request& request) {
    return request.strategy != Strategy::scan && part.gathered == nullptr ? snapshot.tables.get() : nullptr;
}

// Of each of so many queries, to scan the slots [first, last).
double scan_cost(const Snapshot& snapshot, uint64_t first, uint64_t last, size_t queries) {
    return CostModel::instance().scan(static_cast<double>(last - std::min(first, last)), snapshot.words,
                                      queries >= CostModel::kBatch);
}

class Search {
 public:
    Search(const Snapshot& snapshot, const Part& part, const Request& request, Tally& tally, StopFlag& stop)
        : snapshot_(snapshot),
          part_(part),
          request_(request),
          tally_(tally),
          stop_(stop),
          tables_(tables_for(snapshot, part, request)) {}

    void run(const Finish& finish) {
        const int threads = std::max(1, request_.threads);
        // Many queries are dealt out to the threads; few are answered together, each thread scanning a part.
        const bool several = request_.count >= kManyQueries * static_cast<size_t>(threads);
        const double work = several ? foreseen(snapshot_, part_, request_) : 0;
        const bool few = work < kWorthThread;
        const int dealt = few ? 1 : static_cast<int>(std::min<double>(threads, 1 + work / kWorthThread));
        const size_t block = few ? kBlock : std::min<size_t>(kBlock, (request_.count + dealt - 1) / dealt);
        parallel_for(request_.count, block, dealt, stop_,
                     [&](size_t begin, size_t end, int) { answer(begin, end, few ? threads : 1, finish); });
    }

    double regret() const { return regret_.load(); }

 private:
    static constexpr size_t kBlock = 1024;
    static constexpr size_t kManyQueries = 32;     // per thread
    static constexpr double kWorthThread = 100e3;  // nanoseconds; starting one takes some ten thousand

    double scan_cost(uint64_t first, uint64_t last, size_t queries) const {
        return hamming::scan_cost(snapshot_, first, last, queries);
    }

    ScanData data(uint64_t first) const { return scan_data(snapshot_, part_.gathered, std::max(first, part_.first)); }

    void answer(size_t begin, size_t end, int threads, const Finish& finish) {
        const size_t count = end - begin;
        const uint64_t* queries = request_.queries + begin * snapshot_.words;
        std::vector<Collector> collectors(count,
                                          Collector(request_.task, request_.k, request_.radius, snapshot_.n_bits));
        for (Collector& collector : collectors) collector.give_up_beyond(request_.most);
        std::vector<size_t> served, leftovers;
        probe(queries, collectors, served, leftovers);
        scan_some(queries, collectors, served, tables_ ? tables_->slots : 0, threads);
        for (size_t q : leftovers) collectors[q].restart();
        scan_some(queries, collectors, leftovers, 0, threads);
        if (stop_.load()) return;
        if (part_.gathered == nullptr && part_.first == 0) regret_.fetch_add(regret_of(collectors, served, leftovers));
        tally(served.size(), leftovers.size());
        for (size_t q = 0; q < count; ++q) finish(begin + q, collectors[q]);
    }

    // Splits the queries into those that the tables have answered and those that are better scanned.
    void probe(const uint64_t* queries, std::vector<Collector>& collectors, std::vector<size_t>& served,
               std::vector<size_t>& leftovers) {
        std::vector<size_t> order(collectors.size());
        std::iota(order.begin(), order.end(), size_t{0});
        if (tables_ == nullptr) {
            leftovers = std::move(order);
            return;
        }
        const bool forced = request_.strategy == Strategy::tables;
        const double scan = scan_cost(0, tables_->slots, request_.count);
        const double budget = forced ? std::numeric_limits<double>::infinity() : scan;
        CostModel& model = CostModel::instance();
        bool probing = forced || worth_probing(scan);
        model.relax(probing ? scan_work(request_.count) : Work::probes);
        Prober prober(snapshot_, *tables_,
                      request_.task == Task::nearest ? std::nullopt : std::optional(request_.radius));
        double spent = 0;
        size_t done = 0;
        while (done < order.size() && probing && !stop_.load(std::memory_order_relaxed)) {
            const size_t count = std::min(Prober::kGroup, order.size() - done), left = leftovers.size();
            const double hits = hits_of(collectors, done, count);
            const Stopwatch watch;
            const double cost = prober.search(queries, &order[done], count, collectors.data(), budget, leftovers);
            const double actual = watch.nanoseconds();
            if (!forced) model.observe(Work::probes, cost, actual, hits_of(collectors, done, count) - hits);
            done += count;
            spent += cost + static_cast<double>(leftovers.size() - left) * scan;
            judge((cost + static_cast<double>(leftovers.size() - left) * scan) / scan, count);
            // Once the tables have cost more than scanning would have, the rest is scanned.
            probing = forced || spent < scan * static_cast<double>(done + 8);
        }
        std::vector<bool> unanswered(order.size());
        for (size_t q : leftovers) unanswered[q] = true;
        for (size_t q = 0; q < done; ++q)
            if (!unanswered[q]) served.push_back(q);
        leftovers.insert(leftovers.end(), order.begin() + static_cast<ptrdiff_t>(done), order.end());
    }

    static Work scan_work(size_t queries) {
        return queries >= CostModel::kBatch ? Work::batch_scan : Work::single_scan;
    }

    static double hits_of(const std::vector<Collector>& collectors, size_t first, size_t count) {
        uint64_t sum = 0;
        for (size_t q = first; q < first + count; ++q) sum += collectors[q].count();
        return static_cast<double>(sum);
    }

    // For a radius the cost of probing is known; for the nearest there is what earlier calls have found,
    // which is put to the test again now and then.
    bool worth_probing(double scan) const {
        if (request_.task != Task::nearest)
            return probing_cost(tables_->keys, tables_->slots, request_.radius, scan) < scan;
        return verdict().load() <= 1 || tables_->trials.fetch_add(1) % 64 == 0;
    }

    std::atomic<float>& verdict() const {
        const bool batch = request_.count >= CostModel::kBatch;
        return tables_->verdicts[2 * static_cast<size_t>(std::bit_width(request_.k)) + batch];
    }

    // Remembers that `count` queries have cost as much by the tables as `scans` of them by scanning.
    void judge(double scans, size_t count) const {
        if (request_.task != Task::nearest) return;
        const float weight = std::min(1.0f, 0.1f * static_cast<float>(count));
        const float ratio = static_cast<float>(scans / static_cast<double>(count));
        verdict().store(verdict().load() * (1 - weight) + ratio * weight);
    }

    void scan_some(const uint64_t* queries, std::vector<Collector>& collectors, const std::vector<size_t>& chosen,
                   uint64_t first, int threads) {
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
            return scan_cost(tables_->slots, snapshot_.slots, request_.count) * static_cast<double>(served.size());
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
    const Part& part_;
    const Request& request_;
    Tally& tally_;
    StopFlag& stop_;
    const Tables* const tables_;  // null if they are not used
    std::atomic<double> regret_{0};
};

}  // namespace

double search_snapshot(const Snapshot& snapshot, const Part& part, const Request& request, Tally& tally, StopFlag& stop,
                       const Finish& finish) {
    Search search(snapshot, part, request, tally, stop);
    search.run(finish);
    return search.regret();
}

double foreseen(const Snapshot& snapshot, const Part& part, const Request& request) {
    const Tables* const tables = tables_for(snapshot, part, request);
    double each = scan_cost(snapshot, part.first, snapshot.slots, request.count);
    if (tables != nullptr && request.task != Task::nearest)
        each = scan_cost(snapshot, tables->slots, snapshot.slots, request.count) +
               probing_cost(tables->keys, tables->slots, request.radius, each);
    return each * static_cast<double>(request.count);
}

}  // namespace sthash::hamming
