#include "cells/index.hpp"

#include <stdexcept>
#include <string>

namespace sthash::cells {

namespace {

constexpr uint64_t kFewDead = 1024;

void check_room(const Snapshot& before, const NewRows& rows) {
    const size_t pages = before.pages.size() + rows.count / kPageRows + 2;
    if (before.size + before.dead + rows.count > kMostRows || pages >= kMostPages)
        throw std::length_error("An index holds at most " + std::to_string(kMostRows) +
                                " vectors. Split them over several.");
    if (rows.ids == nullptr && uint64_t{INT64_MAX} - static_cast<uint64_t>(before.max_id) < rows.count)
        throw std::length_error("No ids are left after " + std::to_string(before.max_id) + ". Give ids yourself.");
}

// A snapshot without rows, with the same centers.
Snapshot empty_like(const Snapshot& snapshot) {
    Snapshot empty(snapshot.coder);
    empty.centers = snapshot.centers;
    return empty;
}

}  // namespace

int64_t Index::add(const NewRows& rows) {
    const std::lock_guard writing(writer_mutex_);
    const Reading before = snapshot();
    if (rows.count == 0) return 0;
    check_room(*before, rows);
    Edit edit(*before, room_);
    edit.append(rows);
    commit(*before, edit, {}, rows.count);
    return static_cast<int64_t>(static_cast<uint64_t>(before->max_id) + 1);
}

void Index::remove(const IdsView& ids) {
    const std::lock_guard writing(writer_mutex_);
    const Reading before = snapshot();
    if (ids.count == 0) return;
    Edit edit(*before, room_);
    std::vector<uint32_t> killed(ids.count);
    for (size_t i = 0; i < ids.count; ++i) {
        const int64_t slot = find(*before, ids.ids[i]);
        if (slot < 0) throw UnknownId(ids.ids[i]);
        killed[i] = static_cast<uint32_t>(slot);
    }
    for (size_t i = 0; i < ids.count; ++i) {
        if (edit.after().is_dead(killed[i])) throw DuplicateId::removed(ids.ids[i]);
        edit.kill(killed[i]);
    }
    commit(*before, edit, killed, 0);
}

void Index::regroup(const IdsView& ids, const Regrouped& rows) {
    const std::lock_guard writing(writer_mutex_);
    const Reading before = snapshot();
    std::vector<uint32_t> slots(ids.count);
    {
        const std::shared_lock mapping(map_mutex_);
        for (size_t i = 0; i < ids.count; ++i) {
            const int64_t slot = find(*before, ids.ids[i]);
            if (slot < 0) throw UnknownId(ids.ids[i]);
            slots[i] = static_cast<uint32_t>(slot);
        }
    }
    Edit edit(*before, room_);
    edit.regroup(rows, slots);
    publish(edit.result());
}

void Index::raise_max_id(int64_t id) {
    const std::lock_guard writing(writer_mutex_);
    auto next = std::make_shared<Snapshot>(*snapshot());
    next->max_id = std::max(next->max_id, id);
    publish(std::move(next));
}

std::pair<Index::Reading, std::vector<int64_t>> Index::locate(const IdsView& ids) const {
    const std::shared_lock mapping(map_mutex_);
    Reading now = snapshot();
    std::vector<int64_t> slots(ids.count);
    const Page* page = nullptr;
    int64_t next = 0;  // the slot after the last one that was found
    for (size_t i = 0; i < ids.count; ++i) {
        // Ids that follow each other are mostly in slots that do.
        const auto row = static_cast<uint32_t>(next) & (kPageRows - 1);
        if (page != nullptr && row < page->count && row > 0 && page->id(row) == ids.ids[i] && !page->is_dead(row))
            slots[i] = next;
        else
            slots[i] = find(*now, ids.ids[i]);
        if (slots[i] < 0) continue;
        page = &now->page_of(static_cast<uint32_t>(slots[i]));
        next = slots[i] + 1;
    }
    return {std::move(now), std::move(slots)};
}

Index::Usage Index::usage() const {
    const std::shared_lock mapping(map_mutex_);
    const Reading now = snapshot();
    Usage sum{map_.bytes(), 0};
    for (const auto& page : now->pages) {
        sum.codes +=
            page->count * ((page->ids ? sizeof(int64_t) : 0) + sizeof(int32_t)) + (page->dead ? sizeof(DeadBits) : 0);
        if (!page->borrowed) sum.vectors += page->count * coder_.vector_bytes();
    }
    for (const auto& cell : now->cells)
        for (const Extent& extent : *cell)
            sum.codes +=
                sizeof(Extent) + extent.size * sizeof(uint32_t) + extent.n_blocks() * kBlock * coder_.row_bytes();
    return sum;
}

int64_t Index::find(const Snapshot& now, int64_t id) const {
    return now.sorted ? now.find_sorted(id) : map_.find(now, id);
}

// Publishes an edit that killed some slots or added rows. All or nothing.
void Index::commit(const Snapshot& before, Edit& edit, const std::vector<uint32_t>& killed, size_t added) {
    std::shared_ptr<Snapshot> after = edit.result();
    std::shared_ptr<PageBuffer> room = edit.room();
    const bool sparse = after->dead > std::max(kFewDead, (after->size + after->dead) / 4);
    if (sparse) {
        Edit fresh(empty_like(*after), nullptr);
        fresh.append_live(*after);
        after = fresh.result();
        room = fresh.room();
    }
    if (before.sorted && after->sorted) {
        room_ = std::move(room);
        publish(std::move(after));
        return;
    }
    const std::unique_lock mapping(map_mutex_);
    if (sparse || before.sorted || after->sorted) {  // the map is made anew
        IdMap old;
        std::swap(old, map_);
        try {
            if (!after->sorted) map_all(*after);
        } catch (...) {
            std::swap(old, map_);
            throw;
        }
    } else {
        map_.reserve(*after, after->size);
        for (const uint32_t slot : killed) map_.erase(*after, after->id_of(slot));
        std::vector<uint32_t> entered;
        entered.reserve(added);
        // New rows are in the last slots.
        for (size_t number = after->pages.size(); added > 0 && number-- > 0;)
            for (uint32_t row = after->pages[number]->count; added > 0 && row-- > 0; --added) {
                const auto slot = static_cast<uint32_t>(number << kPageBits | row);
                if (!map_.insert(*after, after->id_of(slot), slot)) {
                    const int64_t twice = after->id_of(slot);
                    for (const uint32_t other : entered) map_.erase(*after, after->id_of(other));
                    throw DuplicateId::added(twice);
                }
                entered.push_back(slot);
            }
    }
    room_ = std::move(room);
    publish(std::move(after));
}

void Index::map_all(const Snapshot& now) {
    map_.reserve(now, now.size);
    now.each_slot([&](uint32_t slot) {
        if (!map_.insert(now, now.id_of(slot), slot)) throw DuplicateId::added(now.id_of(slot));
    });
}

void Index::publish(Reading next) {
    const std::lock_guard lock(state_mutex_);
    state_.swap(next);  // the old state is let go outside the lock
}

Table table_of(const Snapshot& snapshot) {
    const size_t count = snapshot.size, row_bytes = snapshot.coder.row_bytes();
    Table table{snapshot.slots_by_id(), std::vector<int64_t>(count), std::vector<int32_t>(count),
                std::vector<uint8_t>(count * row_bytes)};
    std::vector<uint32_t> ranks(snapshot.pages.size() << kPageBits);
    for (size_t rank = 0; rank < count; ++rank) {
        const uint32_t slot = table.slots[rank];
        ranks[slot] = static_cast<uint32_t>(rank);
        table.ids[rank] = snapshot.id_of(slot);
        table.cells[rank] = snapshot.page_of(slot).cells[slot & (kPageRows - 1)];
    }
    for (const auto& cell : snapshot.cells)
        for (const Extent& extent : *cell)
            for (uint32_t row = 0; row < extent.size; ++row)
                if (!extent.is_dead(row))
                    read_row(extent, row, row_bytes, &table.packed[ranks[extent.slots[row]] * row_bytes]);
    return table;
}

}  // namespace sthash::cells
