#include "words/posting_search.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "simd.hpp"

#define STHASH_KERNELS "words/postings.inc"
#define STHASH_FAMILY posting_kernels
#include "each_path.inc"

namespace sthash::words {

namespace {

// What a place in a sorted list costs, in postings that are added up.
constexpr ptrdiff_t kLookup = 16;
// With fewer postings than this it takes less time to walk along them than along all sums.
constexpr ptrdiff_t kFew = kWindow / 16;

// After a window, the best are cut down to k if there are this share of k more: the threshold rises.
constexpr size_t kMarginShare = 2;
// Of fewer than this many, the best are chosen and sorted without buckets.
constexpr size_t kManyKeys = 256;

uint64_t key_of(float score, uint32_t position) {
    return static_cast<uint64_t>(std::bit_cast<uint32_t>(score)) << 32 | (UINT32_MAX - position);
}

float score_of(uint64_t key) {
    return std::bit_cast<float>(static_cast<uint32_t>(key >> 32));
}

}  // namespace

PostingSearcher::PostingSearcher() : sums_(kWindow), offsets_(kWindow + 16), scores_(kWindow + 16) {}

size_t PostingSearcher::search(const std::vector<QueryTerm>& terms, size_t n_documents, size_t k,
                               const DocumentsView& documents, int64_t* positions, float* scores) {
    kernels_ = &STHASH_PICK(posting_kernels::kKernels);
    documents_ = documents;
    k_ = std::min(k, n_documents);
    if (k_ == 0) return 0;
    if (interrupted_) std::fill(sums_.begin(), sums_.end(), 0.0f);  // memory ran out within a window
    interrupted_ = true;
    capacity_ = k_ + std::max<size_t>(k_, 64);
    margin_ = k_ / kMarginShare + 4;
    best_.clear();
    // If one term alone gives k documents a score, that is the least to beat. Equal scores may be among the best.
    float sure = 0;
    if (documents.allowed == nullptr)
        for (const QueryTerm& term : terms)
            if (!term.optional) sure = std::max(sure, term.weight * term.list->impact_of_best(k_));
    least_ = (static_cast<uint64_t>(std::max(std::bit_cast<uint32_t>(sure), 1u)) << 32) - 1;
    threshold_ = score_of(least_);

    cursors_.clear();
    for (const QueryTerm& term : terms)
        cursors_.push_back({term.list->blocks(), term.list, term.weight, term.optional});
    rounding_ = 1.5e-7 * static_cast<double>(terms.size() + 2);
    for (;;) {
        uint32_t window = PostingList::kNoWindow;
        for (const Cursor& cursor : cursors_)
            if (!cursor.optional) window = std::min(window, cursor.block->window);
        if (window == PostingList::kNoWindow) break;
        active_.clear();
        required_ = 0;
        for (Cursor& cursor : cursors_) {
            while (cursor.block->window < window) ++cursor.block;
            if (cursor.block->window != window) continue;
            required_ += !cursor.optional;
            const PostingBlock& block = *cursor.block++;
            active_.push_back({cursor.list->offsets() + block.first, cursor.list->impacts() + block.first,
                               static_cast<ptrdiff_t>(cursor.block->first - block.first), 0, cursor.weight,
                               static_cast<double>(cursor.weight) * static_cast<double>(block.most) * (1 + rounding_)});
        }
        // From the last term on: the first ones are essential, without which no document reaches the threshold.
        size_t essential = active_.size();
        for (size_t i = active_.size(); i-- > 0;) {
            active_[i].rest = active_[i].count;
            if (i + 1 < active_.size()) {
                active_[i].bound += active_[i + 1].bound;
                active_[i].rest += active_[i + 1].rest;
            }
            if (active_[i].bound <= static_cast<double>(threshold_)) essential = i;
        }
        if (essential > 0) search_window(window, std::min(essential, required_));
    }

    if (best_.size() > k_) shrink();
    sort_best();
    for (size_t i = 0; i < best_.size(); ++i) {
        positions[i] = static_cast<int64_t>(UINT32_MAX - static_cast<uint32_t>(best_[i]));
        scores[i] = score_of(best_[i]);
    }
    interrupted_ = false;
    return best_.size();
}

// A document must have more than this before the terms from `next` on are added.
float PostingSearcher::least_before(size_t next) const {
    if (next == active_.size()) return threshold_;
    const double missing = static_cast<double>(threshold_) - active_[next].bound;
    return std::max(0.0f, static_cast<float>(missing * (1 - rounding_)));
}

void PostingSearcher::search_window(uint32_t window, size_t essential) {
    // Candidates are looked up in the lists of the last terms, unless adding up the next one of these takes less time.
    const auto most = [&](size_t next) {
        return active_[next].rest / (kLookup * static_cast<ptrdiff_t>(active_.size() - next));
    };
    ptrdiff_t candidates = 0;
    if (active_.size() == 1 || (essential == 1 && active_[0].count < most(1))) {
        const Active& first = active_[0];
        candidates = kernels_->take_block(first.offsets, first.impacts, first.count, first.weight, least_before(1),
                                          offsets_.data(), scores_.data());
    } else {
        ptrdiff_t added = add_up(0, essential);
        // With each term that is added, less is missing, and fewer are candidates.
        while (essential < required_ && added >= most(essential) &&
               kernels_->count_above(sums_.data(), kWindow, least_before(essential), most(essential)) >=
                   most(essential)) {
            added += add_up(essential, essential + 1);
            ++essential;
        }
        candidates = take(essential, added);
    }
    for (size_t i = essential; i < active_.size() && candidates > 0; ++i) {
        const Active& term = active_[i];
        candidates = kernels_->look_up(term.offsets, term.impacts, term.count, term.weight, least_before(i + 1),
                                       offsets_.data(), scores_.data(), candidates);
    }
    report(window, candidates);
}

// Adds some terms to the sums. Returns the number of their postings.
ptrdiff_t PostingSearcher::add_up(size_t first, size_t last) {
    ptrdiff_t added = 0;
    for (size_t i = first; i < last; ++i) {
        const Active& term = active_[i];
        kernels_->add_block(term.offsets, term.impacts, term.count, term.weight, sums_.data());
        added += term.count;
    }
    return added;
}

// Makes candidates of the sums, to which the first terms have been added. Returns how many there are.
ptrdiff_t PostingSearcher::take(size_t essential, ptrdiff_t added) {
    const float least = least_before(essential);
    if (added >= kFew) return kernels_->take_sums(sums_.data(), kWindow, least, offsets_.data(), scores_.data());
    ptrdiff_t taken = 0;
    for (size_t i = 0; i < essential; ++i)
        taken += kernels_->take_touched(active_[i].offsets, active_[i].count, least, sums_.data(),
                                        offsets_.data() + taken, scores_.data() + taken);
    return taken;
}

void PostingSearcher::report(uint32_t window, ptrdiff_t count) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        const uint32_t position = window * kWindow + offsets_[i];
        const uint64_t key = key_of(scores_[i], documents_.ranks == nullptr ? position : documents_.ranks[position]);
        if (key <= least_ || (documents_.allowed != nullptr && documents_.allowed[position] == 0)) continue;
        best_.push_back(key);
        if (best_.size() == capacity_) shrink();
    }
    if (best_.size() >= k_ + margin_) shrink();
}

// Counts the best by their scores, in buckets of which the first is for the highest ones. Afterwards
// bucket_starts_[b] is the number of those in the buckets before b.
void PostingSearcher::count_buckets() {
    uint32_t low = UINT32_MAX, high = 0;
    for (uint64_t key : best_) {
        low = std::min(low, static_cast<uint32_t>(key >> 32));
        high = std::max(high, static_cast<uint32_t>(key >> 32));
    }
    highest_ = high;
    shift_ = std::max(0, static_cast<int>(std::bit_width(high - low)) - kBucketBits);
    bucket_starts_.fill(0);
    for (uint64_t key : best_) ++bucket_starts_[bucket_of(key) + 1];
    for (size_t bucket = 0; bucket < kBuckets; ++bucket) bucket_starts_[bucket + 1] += bucket_starts_[bucket];
}

// Keeps the k best.
void PostingSearcher::shrink() {
    if (best_.size() < kManyKeys) {
        std::nth_element(best_.begin(), best_.begin() + static_cast<ptrdiff_t>(k_) - 1, best_.end(), std::greater<>());
        best_.resize(k_);
        raise_threshold(best_.back());
        return;
    }
    // All of the buckets before the last one that counts, and some of this one.
    count_buckets();
    const size_t last = static_cast<size_t>(std::lower_bound(bucket_starts_.begin(), bucket_starts_.end(), k_) -
                                            bucket_starts_.begin()) -
                        1;
    ordered_.resize(best_.size());
    size_t sure = 0, open = 0;
    for (uint64_t key : best_) {
        const size_t bucket = bucket_of(key);
        best_[sure] = key;
        ordered_[open] = key;
        sure += bucket < last;
        open += bucket == last;
    }
    const auto end = ordered_.begin() + static_cast<ptrdiff_t>(open);
    const auto worst = ordered_.begin() + static_cast<ptrdiff_t>(k_ - sure) - 1;
    std::nth_element(ordered_.begin(), worst, end, std::greater<>());
    std::copy(ordered_.begin(), worst + 1, best_.begin() + static_cast<ptrdiff_t>(sure));
    best_.resize(k_);
    raise_threshold(*worst);
}

// Only keys above `least` are of use from now on. By position, a document with the same score comes too late; by rank,
// it may still be better.
void PostingSearcher::raise_threshold(uint64_t least) {
    least_ = least;
    threshold_ = score_of(documents_.ranks == nullptr ? least : least - (uint64_t{1} << 32));
}

// Sorts the best, best first.
void PostingSearcher::sort_best() {
    if (best_.size() < kManyKeys) {
        std::sort(best_.begin(), best_.end(), std::greater<>());
        return;
    }
    count_buckets();
    ordered_.resize(best_.size());
    for (uint64_t key : best_) ordered_[bucket_starts_[bucket_of(key)]++] = key;
    best_.swap(ordered_);
    // By now each entry is the end of its bucket.
    for (size_t bucket = 0, begin = 0; bucket < kBuckets; begin = bucket_starts_[bucket++])
        if (bucket_starts_[bucket] - begin > 1)
            std::sort(best_.begin() + static_cast<ptrdiff_t>(begin),
                      best_.begin() + static_cast<ptrdiff_t>(bucket_starts_[bucket]), std::greater<>());
}

}  // namespace sthash::words
