#include "cells/edit.hpp"

#include <cstring>

namespace sthash::cells {

namespace {

constexpr uint32_t kLeastRoom = 64;
constexpr uint32_t kLeastBorrowed = kPageRows;  // fewer rows are copied: they would leave a page almost empty

struct alignas(64) Line {
    std::byte bytes[64];
};

}  // namespace

struct PageBuffer {
    PageBuffer(uint32_t capacity, size_t vector_bytes)
        : capacity(capacity),
          vectors(std::make_unique_for_overwrite<Line[]>((capacity * vector_bytes + sizeof(Line) - 1) / sizeof(Line))),
          cells(new int32_t[capacity]) {}

    std::byte* vector(uint32_t row, size_t vector_bytes) {
        return reinterpret_cast<std::byte*>(vectors.get()) + row * vector_bytes;
    }

    uint32_t capacity;
    std::unique_ptr<Line[]> vectors;
    std::shared_ptr<int64_t[]> ids;  // null as long as ids go on counting
    std::shared_ptr<int32_t[]> cells;
};

namespace {

// An extent with room for `size` rows, which begins as a copy of another one.
struct NewExtent {
    NewExtent(const Extent& old, uint32_t size, size_t row_bytes, ExtentMemory& memory)
        : extent(old), row_bytes_(row_bytes) {
        const std::shared_ptr<uint32_t[]> slots = memory.slots.take(size);
        const std::shared_ptr<uint8_t[]> blocks = memory.blocks.take((size + kBlock - 1) / kBlock * kBlock * row_bytes);
        slots_ = slots.get();
        blocks_ = blocks.get();
        if (old.size > 0) {
            std::copy_n(old.slots.get(), old.size, slots_);
            std::memcpy(blocks_, old.blocks.get(), old.n_blocks() * kBlock * row_bytes);
        }
        extent.slots = slots;
        extent.blocks = blocks;
    }

    void push(uint32_t slot, const uint8_t* packed) {
        const uint32_t row = extent.size++;
        slots_[row] = slot;
        uint8_t* const place = blocks_ + row / kBlock * kBlock * row_bytes_ + row % kBlock;
        for (size_t byte = 0; byte < row_bytes_; ++byte) place[byte * kBlock] = packed[byte];
    }

    Extent extent;

 private:
    size_t row_bytes_;
    uint32_t* slots_;
    uint8_t* blocks_;
};

// Adds rows to a cell. packed_of(i) points to the bytes of the row in slots[i].
template <class PackedOf>
void extend(Cell& cell, const uint32_t* slots, size_t count, size_t row_bytes, ExtentMemory& memory,
            PackedOf&& packed_of) {
    for (size_t done = 0; done < count;) {
        const bool fresh = cell.empty() || cell.back().size == kExtentRows;
        const Extent old = fresh ? Extent{} : cell.back();
        const auto take = static_cast<uint32_t>(std::min<size_t>(kExtentRows - old.size, count - done));
        NewExtent grown(old, old.size + take, row_bytes, memory);
        for (uint32_t i = 0; i < take; ++i, ++done) grown.push(slots[done], packed_of(done));
        if (fresh)
            cell.push_back(std::move(grown.extent));
        else
            cell.back() = std::move(grown.extent);
    }
}

}  // namespace

// The ids of new rows, given or counted.
struct Edit::NewIds {
    const NewRows& rows;
    uint64_t first;

    int64_t operator[](size_t at) const {
        return rows.ids != nullptr ? rows.ids[at] : static_cast<int64_t>(first + at);
    }
    bool counting(size_t begin, size_t count) const {
        for (size_t at = begin + 1; rows.ids != nullptr && at < begin + count; ++at)
            if (rows.ids[at - 1] == INT64_MAX || rows.ids[at] != rows.ids[at - 1] + 1) return false;
        return true;
    }
};

Edit::Edit(const Snapshot& before, std::shared_ptr<PageBuffer> room)
    : after_(std::make_shared<Snapshot>(before)),
      coder_(after_->coder),
      room_(std::move(room)),
      own_cells_(coder_.n_cells) {}

void Edit::append(const NewRows& rows) {
    std::vector<uint32_t> slots(rows.count);
    append_pages(rows, slots);
    // Rows of one cell side by side, in their order.
    std::vector<size_t> ends(coder_.n_cells + 1);
    for (size_t i = 0; i < rows.count; ++i) ++ends[static_cast<size_t>(rows.cells[i]) + 1];
    for (size_t cell = 0; cell < coder_.n_cells; ++cell) ends[cell + 1] += ends[cell];
    std::vector<size_t> order(rows.count);
    for (size_t i = 0; i < rows.count; ++i) order[ends[static_cast<size_t>(rows.cells[i])]++] = i;
    std::vector<uint32_t> ordered(rows.count);
    for (size_t i = 0; i < rows.count; ++i) ordered[i] = slots[order[i]];
    for (size_t first = 0; first < rows.count;) {
        const auto cell = static_cast<size_t>(rows.cells[order[first]]);
        const size_t count = ends[cell] - first;
        extend(own_cell(cell), &ordered[first], count, coder_.row_bytes(), memory_,
               [&](size_t i) { return rows.packed + order[first + i] * coder_.row_bytes(); });
        after_->sizes[cell] += static_cast<int32_t>(count);
        first += count;
    }
    after_->size += rows.count;
}

void Edit::append_pages(const NewRows& rows, std::vector<uint32_t>& slots) {
    Snapshot& after = *after_;
    const bool borrowed = rows.owner != nullptr && rows.count >= kLeastBorrowed;
    const NewIds ids{rows, static_cast<uint64_t>(after.max_id) + 1};
    for (size_t first = 0; first < rows.count;) {
        const Taken taken = borrowed ? borrow_page(rows, ids, first) : fill_page(rows, ids, first);
        const auto page = static_cast<uint32_t>(after.pages.size() - 1);
        const uint32_t slot = (page << kPageBits) + after.pages.back()->count - taken.count;
        for (uint32_t i = 0; i < taken.count; ++i, ++first) {
            if (taken.ids != nullptr) taken.ids[i] = ids[first];
            taken.cells[i] = rows.cells[first];
            slots[first] = slot + i;
            see_id(ids[first]);
        }
    }
}

void Edit::see_id(int64_t id) {
    after_->sorted = after_->sorted && id > after_->max_id;
    after_->max_id = std::max(after_->max_id, id);
}

Edit::Taken Edit::borrow_page(const NewRows& rows, const NewIds& new_ids, size_t first) {
    const auto take = static_cast<uint32_t>(std::min<size_t>(kPageRows, rows.count - first));
    auto page = std::make_shared<Page>();
    page->owner = rows.owner;
    page->vectors = rows.vectors + first * coder_.vector_bytes();
    const std::shared_ptr<int64_t[]> ids(new_ids.counting(first, take) ? nullptr : new int64_t[take]);
    const std::shared_ptr<int32_t[]> cells(new int32_t[take]);
    page->ids = ids;
    page->first_id = new_ids[first];
    page->cells = cells;
    page->count = take;
    page->borrowed = true;
    put_page(std::move(page), true);
    room_ = nullptr;
    return {ids.get(), cells.get(), take};
}

Edit::Taken Edit::fill_page(const NewRows& rows, const NewIds& new_ids, size_t first) {
    const std::vector<std::shared_ptr<const Page>>& pages = after_->pages;
    const bool fresh =
        pages.empty() || room_ == nullptr || pages.back()->owner != room_ || pages.back()->count == kPageRows;
    auto page = fresh ? std::make_shared<Page>() : std::make_shared<Page>(*pages.back());
    const auto take = static_cast<uint32_t>(std::min<size_t>(kPageRows - page->count, rows.count - first));
    const size_t vector_bytes = coder_.vector_bytes();
    if (fresh || page->count + take > room_->capacity) {
        const uint32_t wanted = page->count + take;
        const uint32_t spare = pages.empty() || !fresh ? wanted : 0;
        const uint32_t capacity = std::min(kPageRows, std::max(kLeastRoom, wanted + spare));
        auto buffer = std::make_shared<PageBuffer>(capacity, vector_bytes);
        if (page->count > 0) {
            std::memcpy(buffer->vector(0, vector_bytes), page->vectors, page->count * vector_bytes);
            std::copy_n(page->cells.get(), page->count, buffer->cells.get());
        }
        if (page->ids) {
            buffer->ids.reset(new int64_t[capacity]);
            std::copy_n(page->ids.get(), page->count, buffer->ids.get());
            page->ids = buffer->ids;
        }
        room_ = buffer;
        page->vectors = buffer->vector(0, vector_bytes);
        page->cells = buffer->cells;
        page->owner = std::move(buffer);
    }
    if (fresh) page->first_id = new_ids[first];
    // Ids that go on counting need no storage.
    if (!page->ids && !(new_ids.counting(first, take) && new_ids[first] == page->id(page->count))) {
        room_->ids.reset(new int64_t[room_->capacity]);
        for (uint32_t row = 0; row < page->count; ++row) room_->ids[row] = page->id(row);
        page->ids = room_->ids;
    }
    std::memcpy(room_->vector(page->count, vector_bytes), rows.vectors + first * vector_bytes, take * vector_bytes);
    const uint32_t begin = page->count;
    page->count += take;
    put_page(std::move(page), fresh);
    const bool stored = after_->pages.back()->ids != nullptr;
    return {stored ? room_->ids.get() + begin : nullptr, room_->cells.get() + begin, take};
}

void Edit::put_page(std::shared_ptr<Page> page, bool fresh) {
    if (fresh) {
        after_->vectors.push_back(page->vectors);
        after_->pages.push_back(std::move(page));
    } else {
        after_->vectors.back() = page->vectors;
        after_->pages.back() = std::move(page);
    }
}

Cell& Edit::own_cell(size_t cell) {
    if (own_cells_[cell] == nullptr) {
        own_cells_[cell] = std::make_shared<Cell>(*after_->cells[cell]);
        after_->cells[cell] = own_cells_[cell];
    }
    return *own_cells_[cell];
}

void Edit::kill(uint32_t slot) {
    const size_t number = slot >> kPageBits;
    const uint32_t row = slot & (kPageRows - 1);
    own_pages_.resize(after_->pages.size());
    auto& [page, dead] = own_pages_[number];
    if (page == nullptr) {  // the first in this page: copy it and its bitmap, once an edit
        page = std::make_shared<Page>(*after_->pages[number]);
        dead = page->dead ? std::make_shared<DeadBits>(*page->dead) : std::make_shared<DeadBits>();
        page->dead = dead;
        after_->pages[number] = page;
    }
    (*dead)[row / 64] |= uint64_t{1} << (row % 64);
    ++page->dead_count;
    const auto cell = static_cast<size_t>(page->cells[row]);
    Cell& own = own_cell(cell);
    // Slots ascend within a cell.
    const auto after = std::upper_bound(own.begin(), own.end(), slot,
                                        [](uint32_t wanted, const Extent& extent) { return wanted < extent.slots[0]; });
    Extent& extent = *(after - 1);
    const auto place = static_cast<uint32_t>(
        std::lower_bound(extent.slots.get(), extent.slots.get() + extent.size, slot) - extent.slots.get());
    extent.dead[place / 32] |= 1u << (place % 32);
    ++extent.dead_count;
    --after_->sizes[cell];
    --after_->size;
    ++after_->dead;
}

void Edit::regroup(const Regrouped& rows, const std::vector<uint32_t>& slots) {
    Snapshot& after = *after_;
    after.centers = rows.centers;
    after.coder.n_cells = rows.centers->lengths.size() / 3;
    after.coder.centers = rows.centers->bytes.data();
    after.coder.lengths = rows.centers->lengths.data();
    after.cells.resize(coder_.n_cells, std::make_shared<const Cell>());
    after.sizes.resize(coder_.n_cells);
    own_cells_.resize(coder_.n_cells);

    // The pages note the new cells, in copies of their lists. The last page may go on growing.
    std::vector<std::shared_ptr<int32_t[]>> own_lists(after.pages.size());
    std::vector<uint8_t> touched(coder_.n_cells);
    for (size_t i = 0; i < rows.count; ++i) {
        const size_t number = slots[i] >> kPageBits;
        const uint32_t row = slots[i] & (kPageRows - 1);
        if (own_lists[number] == nullptr) {
            auto page = std::make_shared<Page>(*after.pages[number]);
            const bool grows = room_ != nullptr && page->owner == room_;
            own_lists[number].reset(new int32_t[grows ? room_->capacity : page->count]);
            std::copy_n(page->cells.get(), page->count, own_lists[number].get());
            page->cells = own_lists[number];
            after.pages[number] = std::move(page);
        }
        int32_t& cell = own_lists[number][row];
        touched[static_cast<size_t>(cell)] = 1;
        --after.sizes[static_cast<size_t>(cell)];
        cell = rows.cells[i];
        touched[static_cast<size_t>(cell)] = 1;
        ++after.sizes[static_cast<size_t>(cell)];
    }

    // Each cell that has lost or got rows is written anew, in the order of the slots.
    struct Held {
        uint32_t slot;
        const Extent* extent;  // null if the row moves here
        size_t place;
    };
    std::vector<std::vector<uint32_t>> arrived(coder_.n_cells);
    for (size_t i = 0; i < rows.count; ++i)
        arrived[static_cast<size_t>(rows.cells[i])].push_back(static_cast<uint32_t>(i));
    std::vector<uint32_t> moved(slots);
    std::sort(moved.begin(), moved.end());
    const size_t row_bytes = coder_.row_bytes();
    std::vector<Held> held;
    std::vector<uint32_t> held_slots;
    std::vector<uint8_t> packed;
    for (size_t cell = 0; cell < coder_.n_cells; ++cell) {
        if (touched[cell] == 0) continue;
        held.clear();
        for (const Extent& extent : *after.cells[cell])
            for (uint32_t row = 0; row < extent.size; ++row)
                if (!extent.is_dead(row) && !std::binary_search(moved.begin(), moved.end(), extent.slots[row]))
                    held.push_back({extent.slots[row], &extent, row});
        for (const uint32_t i : arrived[cell]) held.push_back({slots[i], nullptr, i});
        std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) { return a.slot < b.slot; });
        held_slots.clear();
        packed.resize(held.size() * row_bytes);
        for (size_t i = 0; i < held.size(); ++i) {
            held_slots.push_back(held[i].slot);
            if (held[i].extent != nullptr)
                read_row(*held[i].extent, static_cast<uint32_t>(held[i].place), row_bytes, &packed[i * row_bytes]);
            else
                std::memcpy(&packed[i * row_bytes], rows.packed + held[i].place * row_bytes, row_bytes);
        }
        own_cells_[cell] = std::make_shared<Cell>();
        extend(*own_cells_[cell], held_slots.data(), held_slots.size(), row_bytes, memory_,
               [&](size_t i) { return packed.data() + i * row_bytes; });
    }
    for (size_t cell = 0; cell < coder_.n_cells; ++cell)
        if (own_cells_[cell] != nullptr) after.cells[cell] = own_cells_[cell];
    if (!own_lists.empty() && own_lists.back() != nullptr && room_ != nullptr && after.pages.back()->owner == room_)
        room_->cells = own_lists.back();  // last, because it cannot be undone
}

void read_row(const Extent& extent, uint32_t row, size_t row_bytes, uint8_t* packed) {
    const uint8_t* const place = extent.blocks.get() + row / kBlock * kBlock * row_bytes + row % kBlock;
    for (size_t byte = 0; byte < row_bytes; ++byte) packed[byte] = place[byte * kBlock];
}

void Edit::append_live(const Snapshot& before) {
    std::vector<uint32_t> moved(before.pages.size() << kPageBits);  // from old slots to new ones
    for (size_t number = 0; number < before.pages.size(); ++number) {
        uint32_t* const new_slots = &moved[number << kPageBits];
        const std::shared_ptr<const Page>& page = before.pages[number];
        if (page->borrowed && page->dead_count < page->count)
            keep_page(page, new_slots);
        else
            copy_page(*page, new_slots);
    }
    const size_t row_bytes = coder_.row_bytes();
    std::vector<uint32_t> slots;
    std::vector<uint8_t> packed;
    for (size_t cell = 0; cell < coder_.n_cells; ++cell) {
        slots.clear();
        packed.clear();
        for (const Extent& extent : *before.cells[cell])
            for (uint32_t row = 0; row < extent.size; ++row) {
                if (extent.is_dead(row)) continue;
                slots.push_back(moved[extent.slots[row]]);
                packed.resize(packed.size() + row_bytes);
                read_row(extent, row, row_bytes, packed.data() + packed.size() - row_bytes);
            }
        if (slots.empty()) continue;
        extend(own_cell(cell), slots.data(), slots.size(), row_bytes, memory_,
               [&](size_t i) { return packed.data() + i * row_bytes; });
    }
    after_->sizes = before.sizes;
    after_->size = before.size;
    after_->max_id = before.max_id;
}

void Edit::keep_page(const std::shared_ptr<const Page>& page, uint32_t* new_slots) {
    const auto first = static_cast<uint32_t>(after_->pages.size() << kPageBits);
    after_->vectors.push_back(page->vectors);
    after_->pages.push_back(page);
    room_ = nullptr;
    for (uint32_t row = 0; row < page->count; ++row) {
        new_slots[row] = first + row;
        see_id(page->id(row));
    }
}

void Edit::copy_page(const Page& page, uint32_t* new_slots) {
    const size_t vector_bytes = coder_.vector_bytes();
    std::vector<int64_t> ids;
    std::vector<int32_t> cells;
    std::vector<uint32_t> rows;
    std::vector<std::byte> vectors;
    for (uint32_t row = 0; row < page.count; ++row) {
        if (page.is_dead(row)) continue;
        rows.push_back(row);
        ids.push_back(page.id(row));
        cells.push_back(page.cells[row]);
        const std::byte* const vector = page.vectors + row * vector_bytes;
        vectors.insert(vectors.end(), vector, vector + vector_bytes);
    }
    std::vector<uint32_t> slots(rows.size());
    append_pages({rows.size(), cells.data(), nullptr, vectors.data(), ids.data(), nullptr}, slots);
    for (size_t i = 0; i < rows.size(); ++i) new_slots[rows[i]] = slots[i];
}

}  // namespace sthash::cells
