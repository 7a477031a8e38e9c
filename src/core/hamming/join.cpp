#include "hamming/join.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "hamming/cost.hpp"
#include "hamming/probe.hpp"
#include "hamming/tables.hpp"

namespace sthash::hamming {

PairBlock Join::next(StopFlag& stop) {
    const std::lock_guard lock(mutex_);
    prepare(stop);
    PairBlock block;
    while (position_ < left_->slots && block.left.size() < kBlock / 2 && !stop.load()) advance(block, stop);
    return block;
}

void Join::prepare(StopFlag& stop) {
    for (const Reading& side : {left_, right_})
        if (side && side->file) side->file->verify();  // a mapped file may have changed since the last block
    if (right_) return;
    Reading now = self_ ? left_ : right_index_.snapshot();
    const uint64_t slots = now->slots;
    if (right_index_.strategy() != Strategy::scan && slots > 0 && !(now->tables && now->tables->slots == slots)) {
        const CostModel& model = CostModel::instance();
        const double scan = model.scan(static_cast<double>(slots), now->words, true);
        const std::vector<Substring> keys = choose_substrings(now->n_bits, slots);
        const double saved = scan - probing_cost(keys, slots, radius_, scan);
        const double build = model.build(static_cast<double>(slots), static_cast<int>(keys.size()));
        if (right_index_.strategy() == Strategy::tables || saved * static_cast<double>(left_->slots) > build) {
            const auto tables = build_tables(*now, threads_, stop);
            if (tables == nullptr) return;
            auto with_tables = std::make_shared<Snapshot>(*now);
            with_tables->tables = tables;
            now = with_tables;
        }
    }
    right_ = now;
}

void Join::advance(PairBlock& block, StopFlag& stop) {
    std::vector<uint64_t> queries;
    std::vector<int64_t> ids;
    uint64_t end = position_;
    for (; end < left_->slots && ids.size() < group_; ++end) {
        const uint32_t slot = static_cast<uint32_t>(end);
        if (left_->is_dead(slot)) continue;
        const uint64_t* code = left_->code_of(slot);
        queries.insert(queries.end(), code, code + left_->words);
        ids.push_back(left_->id_of(slot));
    }
    std::vector<std::vector<Hit>> hits(ids.size());
    std::atomic<bool> too_many{false};
    const size_t most = ids.size() > 1 ? kBlock / ids.size() : std::numeric_limits<size_t>::max();
    const Request request{Task::radius, 0, radius_, queries.data(), ids.size(), threads_, right_index_.strategy(),
                          most};
    // In order, earlier slots have smaller ids and have reported their pairs.
    const Part part{nullptr, self_ && right_->sorted ? position_ : 0};
    search_snapshot(*right_, part, request, right_index_.tally(), stop, [&](size_t q, Collector& collector) {
        if (collector.gave_up())
            too_many.store(true);
        else
            hits[q] = std::move(collector.finish());
    });
    if (stop.load()) return;
    if (too_many.load()) {
        group_ = std::max<size_t>(1, ids.size() / 8);
        return;
    }
    for (size_t q = 0; q < ids.size(); ++q)
        for (const Hit& hit : hits[q]) {
            if (self_ && hit.id <= ids[q]) continue;
            block.left.push_back(ids[q]);
            block.right.push_back(hit.id);
            block.distances.push_back(hit.distance);
        }
    position_ = end;
    group_ = std::min(kGroup, group_ * 2);
}

}  // namespace sthash::hamming
