// The checksum of the index file: XXH64, which reads memory about as fast as it can be read.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace sthash::hamming {

// Takes the data in pieces; every piece but the last must be a multiple of 32 bytes long.
class Checksum {
 public:
    void update(const void* data, size_t size);
    uint64_t digest() const;
    static uint64_t of(const void* data, size_t size);

 private:
    static constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u, kPrime2 = 0xC2B2AE3D27D4EB4Fu,
                              kPrime3 = 0x165667B19E3779F9u, kPrime4 = 0x85EBCA77C2B2AE63u,
                              kPrime5 = 0x27D4EB2F165667C5u;

    static uint64_t round(uint64_t lane, uint64_t input) { return std::rotl(lane + input * kPrime2, 31) * kPrime1; }

    uint64_t lanes_[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
    uint64_t total_ = 0;
    unsigned char rest_[32];
    size_t rest_size_ = 0;
};

}  // namespace sthash::hamming
