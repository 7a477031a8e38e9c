// The index: one writer at a time makes new snapshots, any number of readers search the one they took.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "hamming/edit.hpp"
#include "hamming/file.hpp"
#include "hamming/search.hpp"
#include "hamming/weighted.hpp"
#include "ids.hpp"

namespace sthash::hamming {

struct Usage {
    uint64_t codes, ids, tables;  // bytes
    uint64_t table_slots;
};

class Index {
 public:
    Index(int n_bits, Strategy strategy)
        : strategy_(strategy),
          n_bits_(n_bits),
          words_((n_bits + 63) / 64),
          state_(std::make_shared<Snapshot>(n_bits)) {}
    Index(std::shared_ptr<Snapshot> opened, Strategy strategy)
        : strategy_(strategy), n_bits_(opened->n_bits), words_(opened->words), state_(std::move(opened)) {}

    // The state of the index now; what was opened from a file is checked before it is handed out.
    Reading snapshot() const;
    Reading glance() const;

    // Adds `count` codes with new ids; `ids` may be null, they then go on from the greatest id ever held. Returns the
    // first of the ids that codes without ids have got.
    int64_t add(const uint64_t* codes, const int64_t* ids, uint64_t count);

    void remove(const IdsView& ids);

    // `codes` has the new code of each id.
    void update(const uint64_t* codes, const IdsView& ids);

    // The slots of ids (-1 where unknown) and the snapshot that they belong to.
    std::pair<Reading, std::vector<int64_t>> locate(const IdsView& ids) const;

    // Answers a request; `allowed` may restrict it to some ids. Nothing is complete after a stop.
    void search(const Request& request, const std::optional<IdsView>& allowed, StopFlag& stop, const Finish& finish);

    // The same by weighted distance.
    void search(const weighted::Request& request, const std::optional<IdsView>& allowed, StopFlag& stop,
                const weighted::Finish& finish);

    // Whether a search may take so long that someone might want to interrupt it.
    bool lengthy(const weighted::Request& request, const std::optional<IdsView>& allowed) const;
    bool lengthy(const Request& request, const std::optional<IdsView>& allowed) const;

    // Builds tables over all codes, unless they are there.
    Reading build(int threads, StopFlag& stop);

    // The snapshot to search: with tables if they are wanted, or have by now become worth building.
    Reading prepared(int threads, StopFlag& stop);

    void save(int descriptor) const;
    Usage usage() const;

    Tally& tally() { return tally_; }
    int n_bits() const { return n_bits_; }
    int words() const { return words_; }  // per code
    Strategy strategy() const { return strategy_; }

 private:
    bool wants_tables(const Snapshot& now) const;
    int64_t find(const Snapshot& now, int64_t id) const;
    std::vector<uint32_t> kill(const Snapshot& before, Edit& edit, const IdsView& ids);

    // Publishes an edit that killed some slots and appended all from before.slots on. All or nothing.
    void commit(const Snapshot& before, Edit& edit, const std::vector<uint32_t>& killed);

    // Enters the live slots [first, last); gives the id that was there already and takes all back, or -1.
    int64_t map_slots(const Snapshot& after, uint64_t first, uint64_t last);

    void publish(Reading next);

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
