// The index: one writer at a time makes new snapshots, any number of readers search the one they took.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "hamming/edit.hpp"
#include "hamming/file.hpp"
#include "hamming/ids.hpp"
#include "hamming/search.hpp"
#include "hamming/weighted.hpp"

namespace sthash::hamming {

struct UnknownId : std::runtime_error {
    explicit UnknownId(int64_t id)
        : runtime_error("Id " + std::to_string(id) + " is not in the index. Ask for ids that it holds.") {}
};
struct DuplicateId : std::runtime_error {
    using runtime_error::runtime_error;
};

// Some ids. The caller owns them.
struct IdsView {
    const int64_t* ids;
    size_t count;
};

struct Usage {
    uint64_t codes, ids, tables;  // bytes
    uint64_t table_slots;
};

class Index {
 public:
    using Reading = std::shared_ptr<const Snapshot>;

    Index(int n_bits, Strategy strategy)
        : strategy_(strategy),
          n_bits_(n_bits),
          words_((n_bits + 63) / 64),
          state_(std::make_shared<Snapshot>(n_bits)) {}
    Index(std::shared_ptr<Snapshot> opened, Strategy strategy)
        : strategy_(strategy), n_bits_(opened->n_bits), words_(opened->words), state_(std::move(opened)) {}

    // The state of the index now; what was opened from a file is checked before it is handed out.
    Reading snapshot() const {
        Reading now = glance();
        if (now->file) now->file->verify();
        return now;
    }
    Reading glance() const {
        const std::lock_guard lock(state_mutex_);
        return state_;
    }

    // Adds `count` codes with new ids; `ids` may be null, they then go on from the greatest id ever held. Returns the
    // first of the ids that codes without ids have got.
    int64_t add(const uint64_t* codes, const int64_t* ids, uint64_t count) {
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

    void remove(const IdsView& ids) {
        const std::lock_guard writing(writer_mutex_);
        const Reading before = snapshot();
        Edit edit(*before, room_);
        const std::vector<uint32_t> killed = kill(*before, edit, ids);
        commit(*before, edit, killed);
    }

    // `codes` has the new code of each id.
    void update(const uint64_t* codes, const IdsView& ids) {
        const std::lock_guard writing(writer_mutex_);
        const Reading before = snapshot();
        check_room(*before, ids.count);
        Edit edit(*before, room_);
        const std::vector<uint32_t> killed = kill(*before, edit, ids);
        edit.append(codes, ids.ids, ids.count);
        commit(*before, edit, killed);
    }

    // The slots of ids (-1 where unknown) and the snapshot that they belong to.
    std::pair<Reading, std::vector<int64_t>> locate(const IdsView& ids) const {
        const std::shared_lock mapping(map_mutex_);
        const Reading now = snapshot();
        std::vector<int64_t> slots(ids.count);
        for (size_t i = 0; i < ids.count; ++i) slots[i] = find(*now, ids.ids[i]);
        return {now, std::move(slots)};
    }

    // Answers a request; `allowed` may restrict it to some ids. Nothing is complete after a stop.
    void search(const Request& request, const std::optional<IdsView>& allowed, StopFlag& stop, const Finish& finish) {
        if (allowed) {
            const auto [now, slots] = locate(*allowed);
            const Page gathered = gather(*now, slots);
            Search search(*now, request, tally_, stop);
            search.restrict_to(gathered);
            search.run(finish);
            return;
        }
        const Reading now = prepared(request.threads, stop);
        if (stop.load()) return;
        Search search(*now, request, tally_, stop);
        search.run(finish);
        if (strategy_ == Strategy::automatic) owed_.fetch_add(search.regret());
    }

    // The same by weighted distance.
    void search(const weighted::Request& request, const std::optional<IdsView>& allowed, StopFlag& stop,
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

    // Whether a search may take so long that someone might want to interrupt it.
    bool lengthy(const weighted::Request& request, const std::optional<IdsView>& allowed) const {
        const Reading now = glance();
        return has_much_to_read(*now, allowed) || weighted::foreseen(now->slots, now->words, request.count) > kPatience;
    }
    bool lengthy(const Request& request, const std::optional<IdsView>& allowed) {
        const Reading now = glance();
        if (has_much_to_read(*now, allowed) || wants_tables(*now)) return true;
        if (request.count * now->slots * static_cast<uint64_t>(now->words) < 4 * kMany) return false;
        StopFlag stop{false};
        return Search(*now, request, tally_, stop).foreseen() > kPatience;
    }

    // Builds tables over all codes, unless they are there.
    Reading build(int threads, StopFlag& stop) {
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

    // The snapshot to search: with tables if they are wanted, or have by now become worth building.
    Reading prepared(int threads, StopFlag& stop) {
        const Reading now = snapshot();
        return wants_tables(*now) ? build(threads, stop) : now;
    }

    void save(int descriptor) const {
        const Reading now = snapshot();
        if (now->dead == 0 && now->sorted)
            write_snapshot(*now, descriptor);
        else
            write_snapshot(*compacted(*now), descriptor);
    }

    Usage usage() const {
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

    Tally& tally() { return tally_; }
    int n_bits() const { return n_bits_; }
    int words() const { return words_; }  // per code
    Strategy strategy() const { return strategy_; }

 private:
    static constexpr uint64_t kWorthTables = 4096;
    static constexpr uint64_t kFewDead = 1024;
    static constexpr double kPatience = 50e6;   // nanoseconds
    static constexpr uint64_t kMany = 1000000;  // ids to look up, or codes of a file to check

    static bool has_much_to_read(const Snapshot& now, const std::optional<IdsView>& allowed) {
        return (allowed && allowed->count > kMany) || (now.file && now.slots > kMany);
    }

    bool wants_tables(const Snapshot& now) const {
        if (strategy_ == Strategy::scan || now.slots == 0 || (now.tables && now.tables->slots == now.slots))
            return false;
        return strategy_ == Strategy::tables || (now.slots >= kWorthTables && owed_.load() > build_cost(now));
    }

    static double build_cost(const Snapshot& now) {
        const size_t tables = choose_substrings(now.n_bits, now.slots).size();
        return CostModel::instance().build(static_cast<double>(now.slots), static_cast<int>(tables));
    }

    static void check_room(const Snapshot& before, uint64_t count) {
        if (before.slots + count >= UINT32_MAX)
            throw std::length_error("An index holds at most 4294967294 codes. Split it over several.");
    }

    int64_t find(const Snapshot& now, int64_t id) const {
        const int64_t slot = now.sorted ? now.find_sorted(id) : map_.find(now, id);
        return slot >= 0 && now.is_dead(static_cast<uint32_t>(slot)) ? IdMap::kNone : slot;
    }

    std::vector<uint32_t> kill(const Snapshot& before, Edit& edit, const IdsView& ids) {
        std::vector<uint32_t> killed(ids.count);
        for (size_t i = 0; i < ids.count; ++i) {
            const int64_t id = ids.ids[i], slot = find(before, id);
            if (slot < 0) throw UnknownId(id);
            killed[i] = static_cast<uint32_t>(slot);
            if (edit.after().is_dead(killed[i]))
                throw DuplicateId("Id " + std::to_string(id) + " is given twice. Give each id once.");
            edit.kill(killed[i]);
        }
        return killed;
    }

    // Publishes an edit that killed some slots and appended all from before.slots on. All or nothing.
    void commit(const Snapshot& before, Edit& edit, const std::vector<uint32_t>& killed) {
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
            throw DuplicateId("Id " + std::to_string(twice) +
                              " is in the index already or given twice. Remove it first, or use update.");
        }
        room_ = sparse ? nullptr : edit.room();
        if (sparse) {
            after = compacted(*after);
            map_.clear();
        }
        publish(after);
    }

    // Enters the live slots [first, last); gives the id that was there already and takes all back, or -1.
    int64_t map_slots(const Snapshot& after, uint64_t first, uint64_t last) {
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

    void publish(std::shared_ptr<const Snapshot> next) {
        const std::lock_guard lock(state_mutex_);
        state_.swap(next);  // the old state is let go outside the lock
    }

    static Page gather(const Snapshot& now, std::vector<int64_t> slots) {
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

    const Strategy strategy_;
    const int n_bits_, words_;
    std::mutex writer_mutex_, build_mutex_;
    mutable std::shared_mutex map_mutex_;  // guards map_, and its agreement with state_ if that is not sorted
    mutable std::mutex state_mutex_;
    Reading state_;
    std::shared_ptr<PageBuffer> room_;
    IdMap map_;
    Tally tally_;
    std::atomic<double> owed_{0};  // time that tables would have saved, since they were last built
};

}  // namespace sthash::hamming
