#include "hamming/checksum.hpp"

#include <cstring>

namespace sthash::hamming {

namespace {

template <class T>
uint64_t load(const unsigned char* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

}  // namespace

void Checksum::update(const void* data, size_t size) {
    const unsigned char* p = static_cast<const unsigned char*>(data);
    total_ += size;
    for (; size >= 32; size -= 32, p += 32)
        for (int lane = 0; lane < 4; ++lane) lanes_[lane] = round(lanes_[lane], load<uint64_t>(p + 8 * lane));
    if (size > 0) std::memcpy(rest_, p, size);  // an empty array may have no address
    rest_size_ = size;
}

uint64_t Checksum::digest() const {
    uint64_t hash = kPrime5;
    if (total_ >= 32) {
        hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
        for (uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
    }
    hash += total_;
    const unsigned char *p = rest_, *end = rest_ + rest_size_;
    for (; end - p >= 8; p += 8) hash = std::rotl(hash ^ round(0, load<uint64_t>(p)), 27) * kPrime1 + kPrime4;
    if (end - p >= 4) {
        hash = std::rotl(hash ^ load<uint32_t>(p) * kPrime1, 23) * kPrime2 + kPrime3;
        p += 4;
    }
    for (; p < end; ++p) hash = std::rotl(hash ^ *p * kPrime5, 11) * kPrime1;
    hash = (hash ^ (hash >> 33)) * kPrime2;
    hash = (hash ^ (hash >> 29)) * kPrime3;
    return hash ^ (hash >> 32);
}

uint64_t Checksum::of(const void* data, size_t size) {
    Checksum checksum;
    checksum.update(data, size);
    return checksum.digest();
}

}  // namespace sthash::hamming
