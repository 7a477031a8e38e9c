// Which rows are joined by the pairs so far (union by the smaller number, path halving).
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace sthash::join {

class Components {
 public:
    explicit Components(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }

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
