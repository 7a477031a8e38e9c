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

void PostingList::shrink() {
    blocks_.shrink_to_fit();
    offsets_.shrink_to_fit();
    counts_.shrink_to_fit();
    large_counts_.shrink_to_fit();
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

void PostingList::prepare(const Bm25& scoring, std::span<const int32_t> lengths) {
    // What was prepared before and has only grown keeps its impacts.
    const size_t known = scoring_ == scoring ? impacts_.size() : 0;
    impacts_.resize(size());
    if (known == 0) impacts_.shrink_to_fit();
    scoring_ = scoring;
    const double base = scoring.k1 * (1 - scoring.b);
    const double per_word = scoring.mean_length > 0 ? scoring.k1 * scoring.b / scoring.mean_length : 0;
    auto large = std::ranges::lower_bound(large_counts_, known, {}, &LargeCount::posting);
    // The block of the first new posting; the last one only ends the others.
    auto first_new =
        std::ranges::upper_bound(blocks_.begin(), std::prev(blocks_.end()), known, {}, &PostingBlock::first);
    if (first_new != blocks_.begin()) --first_new;
    for (PostingBlock* block = std::to_address(first_new); block->window != kNoWindow; ++block) {
        const int32_t* length = lengths.data() + block->window * kWindow;
        if (block->first >= known) block->most = 0;
        for (uint32_t i = std::max(block->first, static_cast<uint32_t>(known)); i < block[1].first; ++i) {
            const double count = counts_[i] < 255 ? counts_[i] : (large++)->count;
            const double impact = count * (scoring.k1 + 1) / (count + base + per_word * length[offsets_[i]]);
            impacts_[i] = static_cast<float>(impact);
            block->most = std::max(block->most, impacts_[i]);
        }
    }
    // Postings that come later only raise these, so they stay right as bounds.
    if (known > 0 && size() - ranked_ <= ranked_ / 8) return;
    ranked_ = size();
    std::vector<float> best;
    impact_at_rank_ = {};
    if (size() >= kRanks.back()) best = impacts_;
    for (size_t i = 0; i < kRanks.size(); ++i) {
        if (size() < kRanks[i]) continue;
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
