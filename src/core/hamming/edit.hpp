// Changes to a snapshot: a new one is prepared beside it, sharing all that stays the same.
#pragma once

#include <memory>
#include <vector>

#include "hamming/snapshot.hpp"

namespace sthash::hamming {

// Memory behind a page; behind the last one there is room for more.
struct PageBuffer {
    PageBuffer(uint32_t capacity, int words, bool with_ids)
        : capacity(capacity),
          codes(std::make_unique_for_overwrite<uint64_t[]>(size_t{capacity} * words)),
          ids(with_ids ? std::make_unique_for_overwrite<int64_t[]>(capacity) : nullptr) {}

    uint32_t capacity;
    std::unique_ptr<uint64_t[]> codes;
    std::unique_ptr<int64_t[]> ids;
};

// One writer at a time may edit. `room` is the buffer of the last page, kept from edit to edit.
class Edit {
 public:
    Edit(const Snapshot& before, std::shared_ptr<PageBuffer> room)
        : after_(std::make_shared<Snapshot>(before)), room_(std::move(room)), own_dead_(before.pages.size()) {}

    Snapshot& after() { return *after_; }
    std::shared_ptr<Snapshot> result() { return after_; }
    std::shared_ptr<PageBuffer> room() { return room_; }

    // Appends codes; without ids they continue from max_id + 1.
    void append(const uint64_t* codes, const int64_t* ids, uint64_t count);

    void kill(uint32_t slot);

 private:
    uint32_t append_to_page(const uint64_t* codes, const int64_t* ids, uint64_t count);

    std::shared_ptr<Snapshot> after_;
    std::shared_ptr<PageBuffer> room_;
    std::vector<std::shared_ptr<DeadBits>> own_dead_;
};

// The live codes alone, in the order of their ids: everything that deletions and odd orders have cost is gone.
std::shared_ptr<Snapshot> compacted(const Snapshot& before);

}  // namespace sthash::hamming
