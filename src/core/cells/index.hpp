// The index of embeddings: one writer at a time makes new snapshots, any number of readers search the one they took.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "cells/edit.hpp"
#include "cells/snapshot.hpp"
#include "ids.hpp"

namespace sthash::cells {

class Index {
 public:
    using Reading = std::shared_ptr<const Snapshot>;

    explicit Index(const Coder& coder) : coder_(coder), state_(std::make_shared<const Snapshot>(coder)) {}

    // What was learned at first. A snapshot has its own, with the centers as they are now.
    const Coder& coder() const { return coder_; }

    // The state of the index now.
    Reading snapshot() const {
        const std::lock_guard lock(state_mutex_);
        return state_;
    }

    // Adds rows with new ids; returns the first of the ids that rows without ids have got. All rows or none.
    int64_t add(const NewRows& rows);

    // Removes all of these ids or none.
    void remove(const IdsView& ids);

    // Takes over other centers, at least as many, and moves rows with these ids to other cells.
    void regroup(const IdsView& ids, const Regrouped& rows);

    // From now on default ids are greater than this.
    void raise_max_id(int64_t id);

    // The slots of ids (-1 where unknown) and the snapshot that they belong to.
    std::pair<Reading, std::vector<int64_t>> locate(const IdsView& ids) const;

    // Bytes of memory besides the vectors, and of the vectors that the index holds itself.
    struct Usage {
        uint64_t codes, vectors;
    };
    Usage usage() const;

 private:
    int64_t find(const Snapshot& now, int64_t id) const;
    void commit(const Snapshot& before, Edit& edit, const std::vector<uint32_t>& killed, size_t added);
    void map_all(const Snapshot& now);
    void publish(Reading next);

    const Coder coder_;
    std::mutex writer_mutex_;
    mutable std::shared_mutex map_mutex_;  // guards map_, and its agreement with state_ if that is not sorted
    mutable std::mutex state_mutex_;
    Reading state_;
    std::shared_ptr<PageBuffer> room_;
    IdMap map_;
};

// The live rows of a snapshot as arrays, in the order of their ids.
struct Table {
    std::vector<uint32_t> slots;
    std::vector<int64_t> ids;
    std::vector<int32_t> cells;
    std::vector<uint8_t> packed;
};
Table table_of(const Snapshot& snapshot);

}  // namespace sthash::cells
