#include "words/posting_list.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>

namespace sthash::words {

bool PostingList::append(int32_t position, int32_t count) {
    const uint32_t window = static_cast<uint32_t>(position) / kWindow;
    const auto offset = static_cast<uint16_t>(static_cast<uint32_t>(position) % kWindow);
    if (!blocks_.empty() && blocks_.back().window == kNoWindow) blocks_.pop_back();
    if (!blocks_.empty()) {
        if (window < blocks_.back().window) return false;
        if (window == blocks_.back().window && offset <= offsets_.back()) return false;
    }
    const auto posting = static_cast<uint32_t>(offsets_.size());
    if (blocks_.empty() || window != blocks_.back().window) blocks_.push_back({window, posting, 0});
    offsets_.push_back(offset);
    counts_.push_back(static_cast<uint8_t>(std::min(count, 255)));
    if (count >= 255) large_counts_.push_back({posting, count});
    return true;
}

void PostingList::close() {
    if (blocks_.empty() || blocks_.back().window != kNoWindow)
        blocks_.push_back({kNoWindow, static_cast<uint32_t>(offsets_.size()), 0});
}

namespace {

// Leaves room for a few more values: documents that are added must not move all that are there.
template <class Value>
void give_back(std::vector<Value>& values) {
    const size_t room = values.size() / 32 + 8;
    if (values.capacity() <= values.size() + 2 * room) return;
    std::vector<Value> kept;
    kept.reserve(values.size() + room);
    kept.insert(kept.end(), values.begin(), values.end());
    values.swap(kept);
}

// The `count` largest values, in any order; some of the others may be among them.
std::vector<float> largest(const std::vector<float>& values, size_t count) {
    std::vector<float> best;
    best.reserve(4 * count);
    float least = 0;
    for (float value : values) {
        if (value <= least) continue;
        best.push_back(value);
        if (best.size() < 4 * count) continue;
        std::nth_element(best.begin(), best.begin() + static_cast<ptrdiff_t>(count) - 1, best.end(), std::greater<>());
        best.resize(count);
        least = best.back();
    }
    return best;
}

}  // namespace

void PostingList::shrink() {
    if (blocks_.empty()) return;
    give_back(blocks_);
    give_back(offsets_);
    give_back(counts_);
    give_back(large_counts_);
}

int64_t PostingList::last() const {
    if (offsets_.empty()) return -1;
    const size_t behind = blocks_.back().window == kNoWindow ? 2 : 1;
    return static_cast<int64_t>(blocks_[blocks_.size() - behind].window) * kWindow + offsets_.back();
}

size_t PostingList::nbytes() const {
    return sizeof(PostingList) + blocks_.capacity() * sizeof(PostingBlock) + offsets_.capacity() * sizeof(uint16_t) +
           counts_.capacity() + large_counts_.capacity() * sizeof(LargeCount) + impacts_.capacity() * sizeof(float);
}

bool PostingList::contains(int32_t position) const {
    const uint32_t window = static_cast<uint32_t>(position) / kWindow;
    const auto offset = static_cast<uint16_t>(static_cast<uint32_t>(position) % kWindow);
    const auto block = std::ranges::lower_bound(blocks_, window, {}, &PostingBlock::window);
    if (block == blocks_.end() || block->window != window) return false;
    return std::binary_search(offsets_.begin() + block->first, offsets_.begin() + std::next(block)->first, offset);
}

bool PostingList::remove(int32_t position) {
    const uint32_t window = static_cast<uint32_t>(position) / kWindow;
    const auto offset = static_cast<uint16_t>(static_cast<uint32_t>(position) % kWindow);
    const auto block = std::ranges::lower_bound(blocks_, window, {}, &PostingBlock::window);
    if (block == blocks_.end() || block->window != window) return false;
    const uint32_t first = block->first, last = std::next(block)->first;
    const auto found = std::lower_bound(offsets_.begin() + first, offsets_.begin() + last, offset);
    if (found == offsets_.begin() + last || *found != offset) return false;
    const auto posting = static_cast<uint32_t>(found - offsets_.begin());
    auto large = std::ranges::lower_bound(large_counts_, posting, {}, &LargeCount::posting);
    if (counts_[posting] == 255) large = large_counts_.erase(large);
    for (; large != large_counts_.end(); ++large) --large->posting;
    offsets_.erase(found);
    counts_.erase(counts_.begin() + posting);
    if (posting < impacts_.size()) impacts_.erase(impacts_.begin() + posting);
    // The largest impact of the block stays as a bound.
    for (auto later = std::next(block); later != blocks_.end(); ++later) --later->first;
    if (last - first == 1) blocks_.erase(block);
    return true;
}

void PostingList::free_from(std::span<const int32_t> positions) {
    bool any = false;
    for (int32_t position : positions) any = remove(position) || any;
    if (any && !impacts_.empty()) rank();
}

void PostingList::prepare(const Bm25& scoring, std::span<const int32_t> lengths) {
    // What was prepared before and has only grown keeps its impacts.
    const size_t known = scoring_ == scoring ? impacts_.size() : 0;
    if (known == 0) impacts_ = {};
    impacts_.reserve(offsets_.capacity());
    impacts_.resize(size());
    scoring_ = scoring;
    const double base = scoring.k1 * (1 - scoring.b);
    const double per_word = scoring.mean_length > 0 ? scoring.k1 * scoring.b / scoring.mean_length : 0;
    auto large = std::ranges::lower_bound(large_counts_, known, {}, &LargeCount::posting);
    // The block of the first new posting; the last one only ends the others.
    auto first_new =
        std::ranges::upper_bound(blocks_.begin(), std::prev(blocks_.end()), known, {}, &PostingBlock::first);
    if (first_new != blocks_.begin()) --first_new;
    const auto impact = [&](double count, double length) {
        return static_cast<float>(count * (scoring.k1 + 1) / (count + base + per_word * length));
    };
    // Most documents are short, and have a term once or twice. A few lookups cost less than to fill a table for them.
    constexpr int32_t kCounts = 4, kLengths = 256;
    std::vector<float> table;
    if (size() - known > 4 * kCounts * kLengths) {
        table.reserve(kCounts * kLengths);
        for (int32_t count = 0; count < kCounts; ++count)
            for (int32_t length = 0; length < kLengths; ++length) table.push_back(impact(count, length));
    }
    for (PostingBlock* block = std::to_address(first_new); block->window != kNoWindow; ++block) {
        const int32_t* length = lengths.data() + block->window * kWindow;
        float most = block->first >= known ? 0 : block->most;
        for (uint32_t i = std::max(block->first, static_cast<uint32_t>(known)); i < block[1].first; ++i) {
            const int32_t own = length[offsets_[i]];
            if (!table.empty() && counts_[i] < kCounts && own < kLengths)
                impacts_[i] = table[static_cast<size_t>(counts_[i] * kLengths + own)];
            else
                impacts_[i] = impact(counts_[i] < 255 ? counts_[i] : (large++)->count, own);
            most = std::max(most, impacts_[i]);
        }
        block->most = most;
    }
    // Postings that come later only raise these, so they stay right as bounds.
    if (known == 0 || size() < ranked_ || size() - ranked_ > ranked_ / 8) rank();
}

void PostingList::rank() {
    ranked_ = size();
    std::vector<float> best = largest(impacts_, kRanks.front());
    impact_at_rank_ = {};
    for (size_t i = 0; i < kRanks.size(); ++i) {
        if (best.size() < kRanks[i]) continue;
        const auto at = best.begin() + static_cast<ptrdiff_t>(kRanks[i]) - 1;
        std::nth_element(best.begin(), at, best.end(), std::greater<>());
        impact_at_rank_[i] = *at;
        best.resize(kRanks[i]);
    }
}

float PostingList::impact_of_best(size_t count) const {
    float impact = 0;
    for (size_t i = 0; i < kRanks.size() && kRanks[i] >= count; ++i) impact = impact_at_rank_[i];
    return impact;
}

}  // namespace sthash::words
