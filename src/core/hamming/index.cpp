#include "hamming/index.hpp"

#include <algorithm>

#include "hamming/cost.hpp"
#include "hamming/tables.hpp"

namespace sthash::hamming {

namespace {

constexpr uint64_t kWorthTables = 4096;
constexpr uint64_t kFewDead = 1024;
constexpr double kPatience = 50e6;   // nanoseconds
constexpr uint64_t kMany = 1000000;  // ids to look up, or codes of a file to check

bool has_much_to_read(const Snapshot& now, const std::optional<IdsView>& allowed) {
    return (allowed && allowed->count > kMany) || (now.file && now.slots > kMany);
}

double build_cost(const Snapshot& now) {
    const size_t tables = choose_substrings(now.n_bits, now.slots).size();
    return CostModel::instance().build(static_cast<double>(now.slots), static_cast<int>(tables));
}

void check_room(const Snapshot& before, uint64_t count) {
    if (before.slots + count >= UINT32_MAX)
        throw std::length_error("An index holds at most 4294967294 codes. Split it over several.");
}

Page gather(const Snapshot& now, std::vector<int64_t> slots) {
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    if (!slots.empty() && slots.front() < 0) slots.erase(slots.begin());
    const uint32_t count = static_cast<uint32_t>(slots.size());
    auto buffer = std::make_shared<PageBuffer>(count, now.words, true);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t slot = static_cast<uint32_t>(slots[i]);
        std::copy_n(now.code_of(slot), now.words, &buffer->codes[size_t{i} * now.words]);
        buffer->ids[i] = now.id_of(slot);
    }
    return {buffer, buffer->codes.get(), buffer->ids.get(), 0, count, nullptr};
}

}  // namespace

Reading Index::snapshot() const {
    Reading now = glance();
    if (now->file) now->file->verify();
    return now;
}

Reading Index::glance() const {
    const std::lock_guard lock(state_mutex_);
    return state_;
}

int64_t Index::add(const uint64_t* codes, const int64_t* ids, uint64_t count) {
    const std::lock_guard writing(writer_mutex_);
    const Reading before = snapshot();
    check_room(*before, count);
    if (ids == nullptr && uint64_t{INT64_MAX} - static_cast<uint64_t>(before->max_id) < count)
        throw std::length_error("No ids are left after " + std::to_string(before->max_id) + ". Give ids yourself.");
    Edit edit(*before, room_);
    edit.append(codes, ids, count);
    commit(*before, edit, {});
    return after_id(before->max_id, 1);
}

void Index::remove(const IdsView& ids) {
    const std::lock_guard writing(writer_mutex_);
    const Reading before = snapshot();
    Edit edit(*before, room_);
    const std::vector<uint32_t> killed = kill(*before, edit, ids);
    commit(*before, edit, killed);
}

void Index::update(const uint64_t* codes, const IdsView& ids) {
    const std::lock_guard writing(writer_mutex_);
    const Reading before = snapshot();
    check_room(*before, ids.count);
    Edit edit(*before, room_);
    const std::vector<uint32_t> killed = kill(*before, edit, ids);
    edit.append(codes, ids.ids, ids.count);
    commit(*before, edit, killed);
}

std::pair<Reading, std::vector<int64_t>> Index::locate(const IdsView& ids) const {
    const std::shared_lock mapping(map_mutex_);
    const Reading now = snapshot();
    std::vector<int64_t> slots(ids.count);
    for (size_t i = 0; i < ids.count; ++i) slots[i] = find(*now, ids.ids[i]);
    return {now, std::move(slots)};
}

void Index::search(const Request& request, const std::optional<IdsView>& allowed, StopFlag& stop,
                   const Finish& finish) {
    if (allowed) {
        const auto [now, slots] = locate(*allowed);
        const Page gathered = gather(*now, slots);
        search_snapshot(*now, {&gathered}, request, tally_, stop, finish);
        return;
    }
    const Reading now = prepared(request.threads, stop);
    if (stop.load()) return;
    const double regret = search_snapshot(*now, {}, request, tally_, stop, finish);
    if (strategy_ == Strategy::automatic) owed_.fetch_add(regret);
}

void Index::search(const weighted::Request& request, const std::optional<IdsView>& allowed, StopFlag& stop,
                   const weighted::Finish& finish) {
    if (allowed) {
        const auto [now, slots] = locate(*allowed);
        const Page gathered = gather(*now, slots);
        weighted::search(scan_data(*now, &gathered, 0), request, stop, finish);
    } else {
        const Reading now = snapshot();
        weighted::search(scan_data(*now, nullptr, 0), request, stop, finish);
    }
    tally_.weighted += request.count;
}

bool Index::lengthy(const weighted::Request& request, const std::optional<IdsView>& allowed) const {
    const Reading now = glance();
    return has_much_to_read(*now, allowed) || weighted::foreseen(now->slots, now->words, request.count) > kPatience;
}

bool Index::lengthy(const Request& request, const std::optional<IdsView>& allowed) const {
    const Reading now = glance();
    if (has_much_to_read(*now, allowed) || wants_tables(*now)) return true;
    if (request.count * now->slots * static_cast<uint64_t>(now->words) < 4 * kMany) return false;
    return foreseen(*now, {}, request) > kPatience;
}

Reading Index::build(int threads, StopFlag& stop) {
    const std::lock_guard building(build_mutex_);
    const Reading now = snapshot();
    if (now->slots == 0 || (now->tables && now->tables->slots == now->slots)) return now;
    const Stopwatch watch;
    const auto tables = build_tables(*now, threads, stop);
    if (!tables) return now;
    CostModel::instance().observe(Work::build, build_cost(*now) / std::min<int>(threads, tables->tables.size()),
                                  watch.nanoseconds());
    owed_.store(0);
    const std::lock_guard writing(writer_mutex_);
    auto next = std::make_shared<Snapshot>(*glance());
    if (next->generation == now->generation) {
        next->tables = tables;
        publish(next);
    }
    auto mine = std::make_shared<Snapshot>(*now);
    mine->tables = tables;
    return mine;
}

Reading Index::prepared(int threads, StopFlag& stop) {
    const Reading now = snapshot();
    return wants_tables(*now) ? build(threads, stop) : now;
}

void Index::save(int descriptor) const {
    const Reading now = snapshot();
    if (now->dead == 0 && now->sorted)
        write_snapshot(*now, descriptor);
    else
        write_snapshot(*compacted(*now), descriptor);
}

Usage Index::usage() const {
    const std::shared_lock mapping(map_mutex_);
    const Reading now = glance();
    Usage sum{0, map_.bytes(), 0, 0};
    for (const auto& page : now->pages) {
        sum.codes += size_t{page->count} * now->words * 8 + (page->dead ? kPageSlots / 8 : 0);
        sum.ids += page->ids ? size_t{page->count} * 8 : 0;
    }
    if (now->tables) sum.tables = now->tables->bytes(), sum.table_slots = now->tables->slots;
    return sum;
}

bool Index::wants_tables(const Snapshot& now) const {
    if (strategy_ == Strategy::scan || now.slots == 0 || (now.tables && now.tables->slots == now.slots)) return false;
    return strategy_ == Strategy::tables || (now.slots >= kWorthTables && owed_.load() > build_cost(now));
}

int64_t Index::find(const Snapshot& now, int64_t id) const {
    const int64_t slot = now.sorted ? now.find_sorted(id) : map_.find(now, id);
    return slot >= 0 && now.is_dead(static_cast<uint32_t>(slot)) ? IdMap::kNone : slot;
}

std::vector<uint32_t> Index::kill(const Snapshot& before, Edit& edit, const IdsView& ids) {
    std::vector<uint32_t> killed(ids.count);
    for (size_t i = 0; i < ids.count; ++i) {
        const int64_t id = ids.ids[i], slot = find(before, id);
        if (slot < 0) throw UnknownId(id);
        killed[i] = static_cast<uint32_t>(slot);
    }
    for (size_t i = 0; i < ids.count; ++i) {
        if (edit.after().is_dead(killed[i])) throw DuplicateId::removed(ids.ids[i]);
        edit.kill(killed[i]);
    }
    return killed;
}

void Index::commit(const Snapshot& before, Edit& edit, const std::vector<uint32_t>& killed) {
    std::shared_ptr<Snapshot> after = edit.result();
    const bool sparse = after->dead > std::max(kFewDead, after->slots / 4);
    if (after->sorted) {
        room_ = sparse ? nullptr : edit.room();
        if (sparse) after = compacted(*after);
        publish(after);
        return;
    }
    const std::unique_lock mapping(map_mutex_);
    if (before.sorted) map_slots(*after, 0, before.slots);
    for (uint32_t slot : killed) map_.erase(*after, after->id_of(slot));
    const int64_t twice = map_slots(*after, before.slots, after->slots);
    if (twice >= 0) {  // only add can get here: roll back
        if (before.sorted) map_.clear();
        throw DuplicateId::added(twice);
    }
    room_ = sparse ? nullptr : edit.room();
    if (sparse) {
        after = compacted(*after);
        map_.clear();
    }
    publish(after);
}

int64_t Index::map_slots(const Snapshot& after, uint64_t first, uint64_t last) {
    map_.reserve(after, last);
    for (uint64_t slot = first; slot < last; ++slot) {
        const uint32_t here = static_cast<uint32_t>(slot);
        if (after.is_dead(here) || map_.insert(after, after.id_of(here), here)) continue;
        const int64_t twice = after.id_of(here);
        while (slot-- > first) map_.erase(after, after.id_of(static_cast<uint32_t>(slot)));
        return twice;
    }
    return -1;
}

void Index::publish(Reading next) {
    const std::lock_guard lock(state_mutex_);
    state_.swap(next);  // the old state is let go outside the lock
}

}  // namespace sthash::hamming
