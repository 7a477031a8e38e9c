#include "hamming/snapshot.hpp"

#include <algorithm>

namespace sthash::hamming {

std::vector<Run> Snapshot::runs(uint64_t first, uint64_t last) const {
    std::vector<Run> result;
    while (first < last) {
        const uint32_t start = static_cast<uint32_t>(first) & (kPageSlots - 1);
        const uint32_t count = static_cast<uint32_t>(std::min<uint64_t>(kPageSlots - start, last - first));
        result.push_back({pages[first >> kPageBits].get(), start, count});
        first += count;
    }
    return result;
}

int64_t Snapshot::find_sorted(int64_t id) const {
    const auto after = std::upper_bound(pages.begin(), pages.end(), id,
                                        [](int64_t wanted, const auto& page) { return wanted < page->id(0); });
    if (after == pages.begin()) return -1;
    const size_t number = static_cast<size_t>(after - pages.begin()) - 1;
    const Page& page = *pages[number];
    uint64_t offset;
    if (page.ids == nullptr) {
        offset = static_cast<uint64_t>(id) - static_cast<uint64_t>(page.first_id);
    } else {
        offset = static_cast<uint64_t>(std::lower_bound(page.ids, page.ids + page.count, id) - page.ids);
        if (offset < page.count && page.ids[offset] != id) return -1;
    }
    return offset < page.count ? static_cast<int64_t>(number << kPageBits | offset) : -1;
}

}  // namespace sthash::hamming
