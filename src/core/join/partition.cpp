#include "join/partition.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "join/wording.hpp"
#include "keyed_hash.hpp"

namespace sthash::join {

namespace {

constexpr uint16_t kMost = std::numeric_limits<uint16_t>::max();

// Whether a set is compared with some others only: runs of characters of a text that has pairs of words.
bool is_exclusive(const SetsView& sets, size_t set) {
    return sets.per_text == 2 && set % 2 == 1 && sets.indptr[set] > sets.indptr[set - 1];
}

}  // namespace

Partition::Partition(double threshold, size_t n_counters, uint64_t key)
    : threshold_(threshold), counters_(std::bit_ceil(n_counters)), mask_(counters_.size() - 1), key_(key) {}

uint64_t Partition::mixed(uint64_t item) const {
    return folded_product(item ^ key_, 0x9E3779B97F4A7C15ull ^ key_ << 1);
}

void Partition::count(const SetsView& sets, bool second_round) {
    for (size_t set = 0; set < sets.n_texts * sets.per_text; ++set) {
        if (is_exclusive(sets, set) != second_round) continue;
        for (int64_t at = sets.indptr[set]; at < sets.indptr[set + 1]; ++at) {
            uint16_t& count = counters_[mixed(sets.items[at]) & mask_];
            if (count < kMost && (!second_round || count > 0)) ++count;
        }
    }
}

Placed Partition::place(const SetsView& sets, size_t n_parts, int threads, StopFlag& stop) const {
    constexpr size_t kGrain = 1024;
    std::vector<Placed> pieces((sets.n_texts + kGrain - 1) / kGrain);
    parallel_for(sets.n_texts, kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        Placed& piece = pieces[begin / kGrain];
        std::vector<std::pair<uint16_t, uint64_t>> rarest;
        std::vector<std::pair<int32_t, uint8_t>> own;  // parts of a text, each with its sets there
        for (size_t text = begin; text < end; ++text) {
            own.clear();
            for (size_t number = 0; number < sets.per_text; ++number) {
                const size_t set = text * sets.per_text + number;
                rarest.clear();
                for (int64_t at = sets.indptr[set]; at < sets.indptr[set + 1]; ++at)
                    if (const uint16_t count = counters_[mixed(sets.items[at]) & mask_]; count > 1)
                        rarest.emplace_back(count, sets.items[at]);
                // Of the two sets of a text, one item stands for the text as a whole, and all have some in common.
                const double common = sets.per_text == 1 ? 0 : number == 0 ? kCommonPairs : kCommonRuns;
                const auto size =
                    static_cast<double>(sets.indptr[set + 1] - sets.indptr[set] - (sets.per_text == 2 ? 1 : 0));
                const double needed = std::max(std::ceil(threshold_ * (size + common) - common - 1e-6), 1.0);
                const auto prefix = static_cast<int64_t>(rarest.size()) - static_cast<int64_t>(needed) + 1;
                if (prefix <= 0) continue;
                std::partial_sort(rarest.begin(), rarest.begin() + prefix, rarest.end());
                for (int64_t place = 0; place < prefix; ++place) {
                    // The upper bits: the lower ones chose the counter.
                    const auto part = static_cast<int32_t>((mixed(rarest[place].second) >> 32) % n_parts);
                    own.emplace_back(part, static_cast<uint8_t>(1 << number));
                }
            }
            std::sort(own.begin(), own.end());
            for (size_t at = 0; at < own.size(); ++at) {
                if (at > 0 && own[at].first == own[at - 1].first) {
                    piece.sets.back() |= own[at].second;
                    continue;
                }
                piece.texts.push_back(static_cast<int64_t>(text));
                piece.parts.push_back(own[at].first);
                piece.sets.push_back(own[at].second);
            }
        }
    });
    Placed all;
    for (Placed& piece : pieces) {
        all.texts.insert(all.texts.end(), piece.texts.begin(), piece.texts.end());
        all.parts.insert(all.parts.end(), piece.parts.begin(), piece.parts.end());
        all.sets.insert(all.sets.end(), piece.sets.begin(), piece.sets.end());
    }
    return all;
}

}  // namespace sthash::join
