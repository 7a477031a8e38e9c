// Random hyperplanes that take no memory: the sides of the columns are made by a hash when they are needed.
#pragma once

#include <cstdint>
#include <vector>

#include "csr.hpp"
#include "parallel.hpp"

namespace sthash {

// For each row, and each of 64 × words planes, adds up the values of the row, with the sign of the side of the plane on
// which their column lies. Returns n_rows × 64 × words sums. Planes depend on `seed` and `words`; columns may be any
// number from 0 to 2^31 - 1.
std::vector<float> scatter_rows(const CsrView& rows, size_t words, uint64_t seed, int threads, StopFlag& stop);

}  // namespace sthash
