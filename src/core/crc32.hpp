// CRC-32 as zlib computes it: the sum of some bytes, going on from the sum of those before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash {

uint32_t crc32(const void* data, size_t size, uint32_t before);

}  // namespace sthash
