#include "crc32.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace sthash {

namespace {

constexpr size_t kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// Table i gives what a byte contributes when i more bytes follow it.
constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xEDB88320u : 0);
        tables[0][byte] = sum;
    }
    for (size_t i = 1; i < kSlices; ++i)
        for (size_t byte = 0; byte < 256; ++byte)
            tables[i][byte] = tables[i - 1][byte] >> 8 ^ tables[0][tables[i - 1][byte] & 255];
    return tables;
}

constexpr Tables kTables = make_tables();
static_assert(std::endian::native == std::endian::little, "eight bytes are read as one number");

}  // namespace

uint32_t crc32(const void* data, size_t size, uint32_t before) {
    const auto* at = static_cast<const uint8_t*>(data);
    uint32_t sum = ~before;
    for (; size >= kSlices; size -= kSlices, at += kSlices) {
        uint64_t bytes;
        std::memcpy(&bytes, at, sizeof bytes);
        bytes ^= sum;
        sum = 0;
        for (size_t i = 0; i < kSlices; ++i) sum ^= kTables[kSlices - 1 - i][bytes >> 8 * i & 255];
    }
    for (; size > 0; --size, ++at) sum = sum >> 8 ^ kTables[0][(sum ^ *at) & 255];
    return ~sum;
}

}  // namespace sthash
