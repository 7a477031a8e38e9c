// Changes to a snapshot: a new one is prepared beside it, sharing all that stays the same.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "cells/snapshot.hpp"

namespace sthash::cells {

// Rows to add. The caller owns the arrays; with an owner, an index may keep pointing to the vectors.
struct NewRows {
    size_t count;
    const int32_t* cells;
    const uint8_t* packed;     // count × (bytes + 2): the code, the factor and the shift of each row
    const std::byte* vectors;  // count × dimension
    const int64_t* ids;        // null: they continue from max_id + 1
    std::shared_ptr<const void> owner;
};

// Centers to take over, and rows that move to other cells. The caller owns the arrays.
struct Regrouped {
    std::shared_ptr<const Centers> centers;
    size_t count;
    const int32_t* cells;
    const uint8_t* packed;
};

// Memory behind the last page, with room for more rows.
struct PageBuffer;

// Hands out zeros for the extents of one edit, side by side, so that a search finds them close to each other. A piece
// is let go once nothing points into it.
template <class T>
class Arena {
 public:
    std::shared_ptr<T[]> take(size_t count) {
        if (count > left_) {
            left_ = std::max(count, std::min(2 * size_, kMostValues));
            size_ = left_;
            piece_ = zeros(left_);
            next_ = piece_.get();
        }
        T* const given = next_;
        next_ += count;
        left_ -= count;
        return {piece_, given};
    }

 private:
    static constexpr size_t kMostValues = size_t{1} << 18;
    static constexpr std::align_val_t kLine{64};  // blocks are read in whole lines of the cache

    static std::shared_ptr<T[]> zeros(size_t count) {
        auto* const values = static_cast<T*>(::operator new(count * sizeof(T), kLine));
        std::fill_n(values, count, T{});
        return {values, [](T* held) { ::operator delete(held, kLine); }};
    }

    std::shared_ptr<T[]> piece_;
    T* next_ = nullptr;
    size_t left_ = 0, size_ = 0;
};

struct ExtentMemory {
    Arena<uint32_t> slots;
    Arena<uint8_t> blocks;
};

// One writer at a time may edit. `room` is the buffer of the last page, kept from edit to edit.
class Edit {
 public:
    Edit(const Snapshot& before, std::shared_ptr<PageBuffer> room);

    void append(const NewRows& rows);
    void kill(uint32_t slot);
    // Fills an empty snapshot with the live rows of another. Borrowed pages with live rows stay as they are.
    void append_live(const Snapshot& before);
    // Takes over other centers, at least as many, and moves rows to other cells, with their codes there. This is the
    // only change of the edit.
    void regroup(const Regrouped& rows, const std::vector<uint32_t>& slots);

    const Snapshot& after() const { return *after_; }
    std::shared_ptr<Snapshot> result() { return after_; }
    std::shared_ptr<PageBuffer> room() { return room_; }

 private:
    struct NewIds;
    // Where the ids and cells of rows go that a page has taken.
    struct Taken {
        int64_t* ids;  // null if the page counts them
        int32_t* cells;
        uint32_t count;
    };
    struct OwnPage {
        std::shared_ptr<Page> page;
        std::shared_ptr<DeadBits> dead;
    };

    void append_pages(const NewRows& rows, std::vector<uint32_t>& slots);
    Taken borrow_page(const NewRows& rows, const NewIds& new_ids, size_t first);
    Taken fill_page(const NewRows& rows, const NewIds& new_ids, size_t first);
    void put_page(std::shared_ptr<Page> page, bool fresh);
    void keep_page(const std::shared_ptr<const Page>& page, uint32_t* new_slots);
    void copy_page(const Page& page, uint32_t* new_slots);
    void see_id(int64_t id);
    Cell& own_cell(size_t cell);

    std::shared_ptr<Snapshot> after_;
    const Coder& coder_;  // of after_
    std::shared_ptr<PageBuffer> room_;
    ExtentMemory memory_;
    std::vector<std::shared_ptr<Cell>> own_cells_;  // copied by this edit
    std::vector<OwnPage> own_pages_;
};

// Copies the bytes of a row out of its block.
void read_row(const Extent& extent, uint32_t row, size_t row_bytes, uint8_t* packed);

}  // namespace sthash::cells
