#include "join/set_index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "dot.hpp"
#include "keyed_hash.hpp"

namespace sthash::join {

namespace {

// Of the sets of an item, so many of the latest are looked at. Only items of boilerplate have more.
constexpr size_t kReach = 1000;

}  // namespace

// Keyed, so that nobody can choose items that collide.
SetIndex::Slot& SetIndex::slot_of(uint64_t item) {
    const size_t mask = slots_.size() - 1;
    size_t at = folded_product(item ^ kHashKey.start, kHashKey.factor) & mask;
    while (slots_[at].count > 0 && slots_[at].item != item) at = (at + 1) & mask;
    return slots_[at];
}

void SetIndex::grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before)
        if (slot.count > 0) slot_of(slot.item) = slot;
}

void Groups::truncate(size_t count) {
    if (count >= size()) return;
    std::vector<Link> links;
    for (const Link& link : links_)
        if (static_cast<size_t>(std::max(link.first, link.second)) < count) links.push_back(link);
    *this = {};
    grow(count);
    for (const auto& [left, right] : links) join(left, right);
}

SetIndex::Match SetIndex::find(const uint64_t* items, size_t count, const Accept& accept, Matches* matches) {
    if (count == 0 || size() == 0) return {};
    if (++mark_ == 0) {
        std::fill(seen_.begin(), seen_.end(), 0);
        mark_ = 1;
    }
    std::vector<std::pair<uint32_t, uint32_t>> lists;  // how many sets an item has, and which is its last link
    lists.reserve(count);
    for (size_t at = 0; at < count; ++at) {
        const Slot& slot = slot_of(items[at]);
        lists.emplace_back(slot.count, slot.last);
    }
    // The order of items that are equally rare does not matter: all that is similar enough is found in any.
    std::sort(lists.begin(), lists.end());
    // A similar set has at least so many of the items, and therefore one of the others and one more.
    const double size = static_cast<double>(count - whole_) + common_;
    const auto needed = static_cast<size_t>(std::max(std::ceil(threshold_ * size - common_ - 1e-9), 0.0));
    const size_t prefix = count - std::max<size_t>(needed, 1) + 1;
    Match best;
    for (size_t place = 0; place < prefix; ++place) {
        auto [left, link] = lists[place];
        left = std::min<uint32_t>(left, kReach);
        for (; left > 0; --left, link = links_[link].before) {
            const uint32_t set = links_[link].set;
            if (std::exchange(seen_[set], mark_) == mark_) continue;
            if (matches != nullptr && matches->cover(static_cast<int32_t>(set))) continue;
            size_t shared = 0;
            const double score = similarity(items, count, set, shared);
            const bool is_best = score > best.score || (score == best.score && set < best.set);
            if (score < threshold_ || (!is_best && matches == nullptr)) continue;
            if (accept && score < 1 &&
                !accept(set, static_cast<int64_t>(count - shared - whole_),
                        static_cast<int64_t>(count_of(set) - shared - whole_)))
                continue;
            if (matches != nullptr) matches->sets.push_back(static_cast<int32_t>(set));
            if (is_best) best = {set, score};
        }
    }
    return best;
}

double SetIndex::similarity(const uint64_t* items, size_t count, size_t set, size_t& shared) const {
    const uint64_t* const other = items_.data() + bounds_[set];
    const auto other_count = static_cast<size_t>(bounds_[set + 1] - bounds_[set]);
    const double smaller = static_cast<double>(std::min(count, other_count) - whole_) + common_;
    const double larger =
        static_cast<double>((measure_ == Measure::jaccard ? std::max(count, other_count) : count) - whole_) + common_;
    if (smaller < threshold_ * larger * (1 - 1e-9)) return 0;
    shared = 0;
    for_each_shared(items, count, other, other_count, [&](size_t, size_t) { ++shared; });
    const size_t either = measure_ == Measure::jaccard ? count + other_count - shared : count;
    if (!whole_) return static_cast<double>(shared) / static_cast<double>(either);
    if (shared == count && shared == other_count) return 1;
    return std::min((static_cast<double>(shared) + common_) / (static_cast<double>(either - 2) + common_), kNearlyOne);
}

void SetIndex::add(const uint64_t* items, size_t count) {
    if (size() >= std::numeric_limits<uint32_t>::max() || links_.size() + count >= std::numeric_limits<uint32_t>::max())
        throw std::length_error("The index is full: it holds at most 4294967295 shingles. Start another one.");
    const auto set = static_cast<uint32_t>(size());
    for (size_t at = 0; at < count; ++at) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        Slot& slot = slot_of(items[at]);
        links_.push_back({set, slot.last});
        used_ += slot.count == 0;
        slot = {items[at], slot.count + 1, static_cast<uint32_t>(links_.size() - 1)};
    }
    items_.insert(items_.end(), items, items + count);
    bounds_.push_back(static_cast<int64_t>(items_.size()));
    seen_.push_back(0);
}

void SetIndex::truncate(size_t count) {
    if (count >= size()) return;
    SetIndex first(measure_, threshold_, common_);
    for (size_t set = 0; set < count; ++set)
        first.add(items_.data() + bounds_[set], static_cast<size_t>(bounds_[set + 1] - bounds_[set]));
    *this = std::move(first);
}

double wording_similarity(const TextSets& left, const TextSets& right, bool keep_numbers) {
    const bool of_words = left.n_pairs() > 0 && right.n_pairs() > 0;
    const uint64_t *ours = of_words ? left.pairs : left.runs, *theirs = of_words ? right.pairs : right.runs;
    const size_t count = of_words ? left.n_pairs() : left.n_runs(),
                 other_count = of_words ? right.n_pairs() : right.n_runs();
    if (count == 0 || other_count == 0) return 0;
    int64_t shared = 0;
    for_each_shared(ours, count, theirs, other_count, [&](size_t, size_t) { ++shared; });
    // One item of each set stands for the whole text.
    const int64_t only_left = static_cast<int64_t>(count) - shared - 1,
                  only_right = static_cast<int64_t>(other_count) - shared - 1;
    if (only_left < 0 && only_right < 0) return 1;
    const double common = (of_words ? kCommonPairs : kCommonRuns) + static_cast<double>(shared);
    const double score = std::min(common / (common + static_cast<double>(only_left + only_right)), kNearlyOne);
    return kept_apart(left.marks, left.marks_end, right.marks, right.marks_end, {of_words, only_left, only_right},
                      keep_numbers)
               ? -score
               : score;
}

SetIndex::Match TextIndex::find(const TextSets& text, Matches* matches) {
    const bool has_pairs = text.n_pairs() > 0;
    const auto accept = [&](bool of_words) {
        return [&, of_words](size_t set, int64_t only_left, int64_t only_right) {
            if (!of_words && has_pairs && pairs_.count_of(set) > 0) return false;
            return !kept_apart(text.marks, text.marks_end, marks_.data() + marks_indptr_[set],
                               marks_.data() + marks_indptr_[set + 1], {of_words, only_left, only_right},
                               keep_numbers_);
        };
    };
    const SetIndex::Match by_pairs = pairs_.find(text.pairs, text.n_pairs(), accept(true), matches);
    if (by_pairs.score == 1) return by_pairs;
    const SetIndex::Match by_runs = runs_.find(text.runs, text.n_runs(), accept(false), matches);
    if (by_pairs.set < 0 || by_runs.score > by_pairs.score) return by_runs;
    return by_runs.score == by_pairs.score && by_runs.set < by_pairs.set ? by_runs : by_pairs;
}

void TextIndex::add(const TextSets& text) {
    pairs_.add(text.pairs, text.n_pairs());
    runs_.add(text.runs, text.n_runs());
    marks_.insert(marks_.end(), text.marks, text.marks_end);
    marks_indptr_.push_back(static_cast<int64_t>(marks_.size()));
}

void TextIndex::truncate(size_t count) {
    pairs_.truncate(count);
    runs_.truncate(count);
    if (count + 1 >= marks_indptr_.size()) return;
    marks_indptr_.resize(count + 1);
    marks_.resize(marks_indptr_.back());
}

Wording TextIndex::texts() const {
    Wording all;
    all.indptr.reserve(2 * size() + 1);
    all.indptr.push_back(0);
    all.items.reserve(pairs_.items().size() + runs_.items().size());
    for (size_t i = 0; i < size(); ++i)
        for (const SetIndex* own : {&pairs_, &runs_}) {
            const uint64_t* const items = own->items().data();
            all.items.insert(all.items.end(), items + own->bounds()[i], items + own->bounds()[i + 1]);
            all.indptr.push_back(static_cast<int64_t>(all.items.size()));
        }
    all.marks_indptr = marks_indptr_;
    all.marks = marks_;
    return all;
}

}  // namespace sthash::join
