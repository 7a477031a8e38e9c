#include "hamming/probe.hpp"

#include <algorithm>
#include <bit>

#include "compiler.hpp"
#include "hamming/cost.hpp"

namespace sthash::hamming {

namespace {

double combinations(int n, int k) {
    double result = 1;
    for (int i = 0; i < k; ++i) result = result * (n - i) / (i + 1);
    return k > n ? 0 : result;
}

}  // namespace

double probing_cost(const std::vector<Substring>& keys, uint64_t slots, int radius, double cap) {
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

Prober::Prober(const Snapshot& snapshot, const Tables& tables, std::optional<int> radius)
    : snapshot_(snapshot),
      tables_(tables),
      radius_(radius),
      offsets_(std::make_unique_for_overwrite<uint32_t[]>(kChunk)),
      distances_(std::make_unique_for_overwrite<uint32_t[]>(kChunk)),
      kernels_(kernels()) {
    for (const Table& table : tables.tables) deepest_ = std::max(deepest_, table.key.width);
    probes_.reserve(64);
    steps_ = (deepest_ + 1) * static_cast<int>(tables.tables.size());
}

double Prober::search(const uint64_t* queries, const size_t* group, size_t count, Collector* collectors, double budget,
                      std::vector<size_t>& leftovers) {
    const double slots = static_cast<double>(tables_.slots);
    const CostModel& model = CostModel::instance();
    seekers_.clear();
    for (size_t i = 0; i < count; ++i)
        seekers_.push_back({group[i], queries + group[i] * snapshot_.words, &collectors[group[i]], 0, 0});
    double total = 0;
    for (int step = 0, end; !seekers_.empty() && step < steps_; step = end) {
        double buckets = 0;
        end = end_of_round(step, buckets);
        const double mean = slots / static_cast<double>(table_at(step).begins.size() - 1);
        std::erase_if(seekers_, [&](const Seeker& seeker) {
            const double spent = model.probes(seeker.buckets, seeker.candidates, slots);
            bool finished = seeker.collector->limit() < step;
            if (!finished) {
                const double crowd = (seeker.candidates + mean) / (seeker.buckets + 1);
                finished = spent + model.probes(buckets, buckets * crowd, slots) > budget;
                if (finished) leftovers.push_back(seeker.query_number);
            }
            if (finished) total += spent;
            return finished;
        });
        for (Seeker& seeker : seekers_)
            for (int now = step; now < end && now <= seeker.collector->limit(); ++now) enqueue(seeker, now);
        flush();
    }
    for (const Seeker& seeker : seekers_) total += model.probes(seeker.buckets, seeker.candidates, slots);
    return total;
}

int Prober::end_of_round(int step, double& buckets) const {
    constexpr double kEnough = 64;
    const auto belongs = [&](int next) {
        return radius_ ? next <= *radius_ : ring_of(step) == 0 && ring_of(next) == 0;
    };
    int end = step;
    do {
        buckets += combinations(table_at(end).key.width, ring_of(end));
        ++end;
    } while (end < steps_ && buckets < kEnough && belongs(end));
    return end;
}

void Prober::enqueue(Seeker& seeker, int step) {
    const Substring& key = table_at(step).key;
    const int ring = ring_of(step);
    if (ring > key.width) return;
    const uint32_t center = key.of(seeker.query);
    const uint64_t end = uint64_t{1} << key.width;
    // Every number with `ring` bits set, in ascending order.
    for (uint64_t flips = (uint64_t{1} << ring) - 1; flips < end;) {
        probes_.push_back({&seeker, step, center ^ static_cast<uint32_t>(flips), 0, 0});
        if (probes_.size() == kProbes) flush();
        if (flips == 0) break;
        const uint64_t lowest = flips & (~flips + 1), carried = flips + lowest;
        flips = carried | (((flips ^ carried) >> 2) / lowest);
    }
}

void Prober::flush() {
    for (const Probe& probe : probes_) STHASH_PREFETCH(&table_at(probe.step).begins[probe.key]);
    for (Probe& probe : probes_) {
        const Table& table = table_at(probe.step);
        probe.begin = table.begins[probe.key];
        probe.end = table.begins[probe.key + 1];
        probe.seeker->buckets += 1;
        probe.seeker->candidates += probe.end - probe.begin;
        const uint32_t lines = std::min<uint32_t>(probe.end, probe.begin + 64);
        for (uint32_t i = probe.begin; i < lines; i += 8) STHASH_PREFETCH(&table.prints[i]);
    }
    for (const Probe& probe : probes_) visit(probe);
    take();
    probes_.clear();
}

void Prober::visit(const Probe& probe) {
    const Table& table = table_at(probe.step);
    const Seeker& seeker = *probe.seeker;
    for (uint32_t begin = probe.begin; begin < probe.end; begin += kChunk) {
        if (seeker.collector->gave_up()) return;
        const size_t found = kernels_.filter(
            &table.prints[begin], std::min(kChunk, probe.end - begin), 1, seeker.query + table.print_word,
            static_cast<uint32_t>(seeker.collector->limit()), offsets_.get(), distances_.get());
        for (size_t i = 0; i < found; ++i) {
            const uint32_t place = begin + offsets_[i];
            if (snapshot_.words == 1 && met_before(&table.prints[place], seeker.query, probe.step)) continue;
            STHASH_PREFETCH(&table.slots[place]);
            finds_.push_back({&probe, place, distances_[i]});
        }
        if (finds_.size() >= kChunk) take();
    }
}

void Prober::take() {
    if (snapshot_.words > 1)
        for (const Find& find : finds_)
            STHASH_PREFETCH(snapshot_.code_of(table_at(find.probe->step).slots[find.place]));
    for (Find& find : finds_) {
        const uint32_t slot = table_at(find.probe->step).slots[find.place];
        const Seeker& seeker = *find.probe->seeker;
        Collector& collector = *seeker.collector;
        if (snapshot_.words > 1) {
            const uint64_t* code = snapshot_.code_of(slot);
            uint32_t unused;
            if (collector.gave_up() ||
                kernels_.filter(code, 1, snapshot_.words, seeker.query, static_cast<uint32_t>(collector.limit()),
                                &unused, &find.distance) == 0 ||
                met_before(code, seeker.query, find.probe->step))
                continue;
        }
        const Page& page = snapshot_.page_of(slot);
        const uint32_t offset = slot & (kPageSlots - 1);
        if (!page.is_dead(offset)) collector.push(page.id(offset), static_cast<int>(find.distance));
    }
    finds_.clear();
}

bool Prober::met_before(const uint64_t* code, const uint64_t* query, int step) const {
    const int number = static_cast<int>(number_of(step)), ring = ring_of(step);
    for (int t = 0; t < static_cast<int>(tables_.tables.size()); ++t) {
        const int nearest = t < number ? ring : ring - 1;
        if (t == number || nearest < 0) continue;
        const Substring& key = tables_.tables[static_cast<size_t>(t)].key;
        const uint32_t differing = key.of(code) ^ key.of(query);
        if (differing == 0 || (nearest > 0 && std::popcount(differing) <= nearest)) return true;
    }
    return false;
}

}  // namespace sthash::hamming
