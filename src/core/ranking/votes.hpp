// The weights of voters: kernel ridge regression over the neighborhood of a query. Voters that are like each other share
// what one of them would count. Everything is added up in a fixed order, so the weights are the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace sthash::ranking {

// Groups of `width` places; a place of -1 ends a group. The caller owns them.
struct GroupsView {
    const int64_t* places;
    size_t count, width;
};

// The inner products of all vectors of each group with each other: count × width × width, 0 beyond the end of a group.
std::vector<float> products_among(const RowsView& vectors, const GroupsView& groups, int threads, StopFlag& stop);

// Groups of `width` voters: their cosines with each other, count × width × width, and how much they are like the query,
// count × width. The caller owns both.
struct VotersView {
    const float* products;
    const double* likeness;
    size_t count, width;
};

// The weights w of each group, count × width, that solve (P + ridge · 1) w = likeness, where P are the products raised
// to a power, and ridge > 0.
std::vector<double> vote_weights(const VotersView& voters, int power, double ridge, int threads, StopFlag& stop);

}  // namespace sthash::ranking
