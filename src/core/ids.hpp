// Ids of the caller's own: the errors about them, and the map from ids to slots.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace sthash {

struct UnknownId : std::runtime_error {
    explicit UnknownId(int64_t id)
        : runtime_error("Id " + std::to_string(id) + " is not in the index. Ask for ids that it holds.") {}
};

struct DuplicateId : std::runtime_error {
    using runtime_error::runtime_error;
    static DuplicateId added(int64_t id) {
        return DuplicateId("Id " + std::to_string(id) +
                           " is in the index already or given twice. Remove it first, or choose another id.");
    }
    static DuplicateId removed(int64_t id) {
        return DuplicateId("Id " + std::to_string(id) + " is given twice. Give each id once.");
    }
};

// Some ids. The caller owns them.
struct IdsView {
    const int64_t* ids;
    size_t count;
};

// From ids to slots, for indexes whose ids do not grow with the slots: open addressing with linear probing. Only slots
// are stored. Their ids are read from a snapshot, which has id_of(slot).
class IdMap {
 public:
    static constexpr int64_t kNone = -1;

    uint64_t bytes() const { return cells_.capacity() * sizeof(uint32_t); }
    void clear() { *this = IdMap(); }

    template <class Snapshot>
    int64_t find(const Snapshot& snapshot, int64_t id) const {
        if (cells_.empty()) return kNone;
        for (size_t cell = home(id);; cell = next(cell)) {
            if (cells_[cell] == kFree) return kNone;
            if (snapshot.id_of(cells_[cell]) == id) return cells_[cell];
        }
    }

    // False if the id is there already.
    template <class Snapshot>
    bool insert(const Snapshot& snapshot, int64_t id, uint32_t slot) {
        reserve(snapshot, used_);
        size_t cell = home(id);
        for (; cells_[cell] != kFree; cell = next(cell))
            if (snapshot.id_of(cells_[cell]) == id) return false;
        cells_[cell] = slot;
        ++used_;
        return true;
    }

    template <class Snapshot>
    void erase(const Snapshot& snapshot, int64_t id) {
        if (cells_.empty()) return;
        size_t hole = home(id);
        while (cells_[hole] != kFree && snapshot.id_of(cells_[hole]) != id) hole = next(hole);
        if (cells_[hole] == kFree) return;
        // Close the gap: move back every later entry whose way from home leads over the hole.
        for (size_t cell = next(hole); cells_[cell] != kFree; cell = next(cell)) {
            const size_t wanted = home(snapshot.id_of(cells_[cell]));
            if (((cell - wanted) & mask()) >= ((cell - hole) & mask())) {
                cells_[hole] = cells_[cell];
                hole = cell;
            }
        }
        cells_[hole] = kFree;
        --used_;
    }

    template <class Snapshot>
    void reserve(const Snapshot& snapshot, uint64_t count) {
        if (2 * (count + 1) > cells_.size()) grow(snapshot, std::bit_ceil(std::max<uint64_t>(64, 2 * (count + 1))));
    }

 private:
    static constexpr uint32_t kFree = UINT32_MAX;

    size_t mask() const { return cells_.size() - 1; }
    size_t next(size_t cell) const { return (cell + 1) & mask(); }
    size_t home(int64_t id) const {
        uint64_t x = static_cast<uint64_t>(id);
        x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
        return static_cast<size_t>(x ^ (x >> 32)) & mask();
    }

    template <class Snapshot>
    void grow(const Snapshot& snapshot, size_t size) {
        std::vector<uint32_t> old(size, kFree);
        old.swap(cells_);
        for (uint32_t slot : old) {
            if (slot == kFree) continue;
            size_t cell = home(snapshot.id_of(slot));
            while (cells_[cell] != kFree) cell = next(cell);
            cells_[cell] = slot;
        }
    }

    std::vector<uint32_t> cells_;
    size_t used_ = 0;
};

}  // namespace sthash
