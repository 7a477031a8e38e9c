// Which rows are joined by the pairs so far (union by the smaller number, path halving).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace sthash::join {

class Components {
 public:
    explicit Components(size_t count) { grow(count); }

    size_t size() const { return parent_.size(); }

    void grow(size_t count) {
        const size_t before = size();
        parent_.resize(std::max(count, before));
        std::iota(parent_.begin() + static_cast<ptrdiff_t>(before), parent_.end(), static_cast<int32_t>(before));
    }

    int32_t root(int32_t row) {
        while (parent_[row] != row) row = parent_[row] = parent_[parent_[row]];
        return row;
    }

    // Joins two rows; false if they were joined before.
    bool join(int32_t a, int32_t b) {
        a = root(a);
        b = root(b);
        if (a == b) return false;
        if (a > b) std::swap(a, b);
        parent_[b] = a;
        return true;
    }

 private:
    std::vector<int32_t> parent_;
};

}  // namespace sthash::join
