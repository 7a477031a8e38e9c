#include "hamming/edit.hpp"

#include <algorithm>
#include <cstring>

namespace sthash::hamming {

void Edit::append(const uint64_t* codes, const int64_t* ids, uint64_t count) {
    while (count > 0) {
        const uint32_t take = append_to_page(codes, ids, count);
        codes += size_t{take} * after_->words;
        if (ids) ids += take;
        count -= take;
    }
}

void Edit::kill(uint32_t slot) {
    const size_t number = slot >> kPageBits;
    own_dead_.resize(after_->pages.size());
    if (own_dead_[number] == nullptr) {  // the first in this page: copy its bitmap, once an edit
        auto page = std::make_shared<Page>(*after_->pages[number]);
        own_dead_[number] = page->dead ? std::make_shared<DeadBits>(*page->dead)
                                       : std::make_shared<DeadBits>(kPageSlots / 64, uint64_t{0});
        page->dead = own_dead_[number];
        after_->pages[number] = page;
    }
    const uint32_t offset = slot & (kPageSlots - 1);
    (*own_dead_[number])[offset / 64] |= uint64_t{1} << (offset % 64);
    ++after_->dead;
}

uint32_t Edit::append_to_page(const uint64_t* codes, const int64_t* ids, uint64_t count) {
    Snapshot& after = *after_;
    const int words = after.words;
    const bool fresh = after.pages.empty() || after.pages.back()->count == kPageSlots;
    auto page = fresh ? std::make_shared<Page>() : std::make_shared<Page>(*after.pages.back());
    const uint32_t take = static_cast<uint32_t>(std::min<uint64_t>(count, kPageSlots - page->count));
    const int64_t first = ids ? ids[0] : after_id(after.max_id, 1);
    if (fresh) page->first_id = first;
    // Ids that go on counting need no storage.
    bool counting = page->ids == nullptr && first == after_id(page->first_id, page->count);
    for (uint32_t i = 1; ids && counting && i < take; ++i) counting = ids[i] == after_id(first, i);
    const bool roomy = !fresh && room_ && page->owner == room_ && page->count + take <= room_->capacity &&
                       (counting || (room_->ids && page->ids));
    if (!roomy) {
        const uint32_t wanted = page->count + take;
        const uint32_t spare = after.pages.empty() || !fresh ? wanted / 2 : 0;
        room_ = std::make_shared<PageBuffer>(std::min(kPageSlots, wanted + spare), words, !counting);
        if (page->count > 0)
            std::memcpy(room_->codes.get(), page->codes, size_t{page->count} * words * sizeof(uint64_t));
        if (!counting)
            for (uint32_t i = 0; i < page->count; ++i) room_->ids[i] = page->id(i);
        page->owner = room_;
        page->codes = room_->codes.get();
        page->ids = room_->ids.get();
    }
    std::memcpy(room_->codes.get() + size_t{page->count} * words, codes, size_t{take} * words * sizeof(uint64_t));
    if (!counting)
        for (uint32_t i = 0; i < take; ++i) room_->ids[page->count + i] = ids ? ids[i] : after_id(first, i);
    for (uint32_t i = 0; i < take; ++i) {
        const int64_t id = ids ? ids[i] : after_id(first, i);
        after.sorted = after.sorted && (id > after.max_id);
        after.max_id = std::max(after.max_id, id);
    }
    page->count += take;
    after.slots += take;
    if (fresh)
        after.pages.push_back(page);
    else
        after.pages.back() = page;
    return take;
}

std::shared_ptr<Snapshot> compacted(const Snapshot& before) {
    std::vector<uint32_t> live;
    live.reserve(before.size());
    for (uint64_t slot = 0; slot < before.slots; ++slot)
        if (!before.is_dead(static_cast<uint32_t>(slot))) live.push_back(static_cast<uint32_t>(slot));
    if (!before.sorted)
        std::sort(live.begin(), live.end(), [&](uint32_t a, uint32_t b) { return before.id_of(a) < before.id_of(b); });
    Edit edit(Snapshot(before.n_bits), nullptr);
    std::vector<uint64_t> codes(size_t{kPageSlots} * before.words);
    std::vector<int64_t> ids(kPageSlots);
    for (size_t begin = 0; begin < live.size(); begin += kPageSlots) {
        const size_t count = std::min<size_t>(kPageSlots, live.size() - begin);
        for (size_t i = 0; i < count; ++i) {
            const uint64_t* code = before.code_of(live[begin + i]);
            std::copy(code, code + before.words, &codes[i * before.words]);
            ids[i] = before.id_of(live[begin + i]);
        }
        edit.append(codes.data(), ids.data(), count);
    }
    edit.after().max_id = before.max_id;
    edit.after().generation = before.generation + 1;
    return edit.result();
}

}  // namespace sthash::hamming
