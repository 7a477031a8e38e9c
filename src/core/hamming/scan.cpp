#include "hamming/scan.hpp"

#include <algorithm>

#include "hamming/cost.hpp"
#include "hamming/kernels.hpp"

namespace sthash::hamming {

uint64_t ScanData::slots() const {
    uint64_t sum = 0;
    for (const Run& run : runs) sum += run.count;
    return sum;
}

ScanData scan_data(const Snapshot& snapshot, const Page* gathered, uint64_t first) {
    ScanData data{{}, snapshot.n_bits, snapshot.words, snapshot.sorted};
    if (gathered == nullptr)
        data.runs = snapshot.runs(first, snapshot.slots);
    else
        for (uint32_t begin = 0; begin < gathered->count; begin += kPageSlots)
            data.runs.push_back({gathered, begin, std::min(kPageSlots, gathered->count - begin)});
    return data;
}

namespace {

struct SinkContext {
    Collector* collectors;
    const Run* run;
    bool in_order;
};

int limit_of(const Collector& collector, bool in_order) {
    return in_order ? collector.limit_of_later() : collector.limit();
}

int collect_hits(void* opaque, size_t query, const uint32_t* offsets, const uint32_t* distances, size_t count) {
    const SinkContext& context = *static_cast<SinkContext*>(opaque);
    Collector& collector = context.collectors[query];
    for (size_t i = 0; i < count; ++i)
        if (static_cast<int>(distances[i]) <= collector.limit() && !context.run->is_dead(offsets[i]))
            collector.push(context.run->id(offsets[i]), static_cast<int>(distances[i]));
    return limit_of(collector, context.in_order);
}

void scan_sliced(const ScanData& data, size_t first_run, size_t last_run, const uint64_t* queries, size_t count,
                 Collector* collectors, StopFlag& stop) {
    BatchQueries batch(queries, count, data.n_bits, kernels().lanes);
    for (size_t q = 0; q < count; ++q) batch.set_limit(q, limit_of(collectors[q], data.in_order));
    for (size_t r = first_run; r < last_run && !stop.load(std::memory_order_relaxed); ++r) {
        SinkContext context{collectors, &data.runs[r], data.in_order};
        kernels().scan_batch(data.runs[r].codes(data.words), data.runs[r].count, batch, collect_hits, &context);
    }
}

void scan_plainly(const ScanData& data, size_t first_run, size_t last_run, const uint64_t* queries, size_t count,
                  Collector* collectors, StopFlag& stop) {
    // Pieces stay in the first-level cache for all queries; the first are small, since until the limits have
    // tightened every code is a hit.
    constexpr uint32_t kPiece = 2048;
    uint32_t piece = 128, offsets[kPiece], distances[kPiece];
    for (size_t r = first_run; r < last_run && !stop.load(std::memory_order_relaxed); ++r) {
        const Run& run = data.runs[r];
        SinkContext context{collectors, &run, data.in_order};
        for (uint32_t begin = 0, size; begin < run.count; begin += size, piece = std::min(2 * piece, kPiece)) {
            size = std::min(piece, run.count - begin);
            const uint64_t* codes = run.codes(data.words) + size_t{begin} * data.words;
            for (size_t q = 0; q < count; ++q) {
                const int limit = limit_of(collectors[q], data.in_order);
                if (limit < 0) continue;
                const size_t found = kernels().filter(codes, size, data.words, queries + q * data.words,
                                                      static_cast<uint32_t>(limit), offsets, distances);
                for (size_t i = 0; i < found; ++i) offsets[i] += begin;
                collect_hits(&context, q, offsets, distances, found);
            }
        }
    }
}

}  // namespace

void scan(const ScanData& data, const uint64_t* queries, size_t count, std::vector<Collector>& collectors, int threads,
          StopFlag& stop) {
    if (count == 0 || data.runs.empty()) return;
    const bool sliced = count >= CostModel::kBatch;
    const auto part = [&](size_t first, size_t last, Collector* into) {
        (sliced ? scan_sliced : scan_plainly)(data, first, last, queries, count, into, stop);
    };
    CostModel& model = CostModel::instance();
    const double expected = model.scan(static_cast<double>(data.slots()), data.words, sliced) * count;
    // A thread costs some ten microseconds to start.
    const size_t parts = std::min<size_t>(
        {static_cast<size_t>(std::max(threads, 1)), data.runs.size(), static_cast<size_t>(1 + expected / 100e3)});
    if (parts <= 1) {
        const auto hits = [&] {
            uint64_t sum = 0;
            for (const Collector& collector : collectors) sum += collector.count();
            return static_cast<double>(sum);
        };
        const double hits_before = hits();
        const Stopwatch watch;
        part(0, data.runs.size(), collectors.data());
        const double actual = watch.nanoseconds();
        if (!stop.load())
            model.observe(sliced ? Work::batch_scan : Work::single_scan, expected, actual, hits() - hits_before);
        return;
    }
    std::vector<std::vector<Collector>> partial(parts, collectors);
    for (size_t p = 1; p < parts; ++p)  // the first keeps what was found before, the others only its limits
        for (Collector& collector : partial[p]) collector.restart();
    parallel_for(parts, 1, static_cast<int>(parts), stop, [&](size_t p, size_t, int) {
        part(data.runs.size() * p / parts, data.runs.size() * (p + 1) / parts, partial[p].data());
    });
    for (size_t q = 0; q < count; ++q) {
        collectors[q] = std::move(partial[0][q]);
        for (size_t p = 1; p < parts; ++p) collectors[q].merge(partial[p][q]);
    }
}

}  // namespace sthash::hamming
