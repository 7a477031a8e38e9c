#include "hamming/file.hpp"

#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "hamming/checksum.hpp"

namespace sthash::hamming {

namespace {

static_assert(std::endian::native == std::endian::little, "the file format is little-endian");

constexpr uint64_t kHeaderBytes = 4096;
constexpr uint32_t kFileVersion = 1;
constexpr char kMagic[8] = {'S', 'T', 'H', 'H', 'A', 'M', 'I', 'X'};
constexpr int kMaxBits = 1024;

}  // namespace

MappedFile::MappedFile(int descriptor, bool map, std::string name) : name_(std::move(name)) {
    status_ = status_of(descriptor);
    size_ = status_.size;
    if (size_ < kHeaderBytes)
        throw FileError(name_ + " is not an index: " + std::to_string(size_) +
                        " bytes are fewer than a header has. Open a file that save has written.");
    std::vector<unsigned char> block(kHeaderBytes);
    read_all(descriptor, block.data(), kHeaderBytes, 0);
    check_header(block.data());
    if (!map) {  // the header has been checked against the length, so nothing larger than the file is allocated
        memory_ = std::make_unique_for_overwrite<uint64_t[]>((size_ + 7) / 8);
        data_ = std::as_bytes(std::span(memory_.get(), 1)).data();
        read_all(descriptor, memory_.get(), size_, 0);
        return;
    }
    mapping_.emplace(descriptor, size_);
    data_ = mapping_->data();
}

const uint64_t* MappedFile::codes() const {
    return reinterpret_cast<const uint64_t*>(data_ + kHeaderBytes);
}

const int64_t* MappedFile::ids() const {
    return header_.has_ids ? reinterpret_cast<const int64_t*>(data_ + kHeaderBytes + codes_bytes()) : nullptr;
}

void MappedFile::verify() const {
    if (mapping_) check_unchanged();
    if (verified_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (verified_.load(std::memory_order_relaxed)) return;
    const uint64_t count = header_.count;
    const uint32_t words = (header_.n_bits + 63) / 64, spare = words * 64 - header_.n_bits;
    if (Checksum::of(codes(), codes_bytes()) != header_.codes_checksum)
        throw FileError(name_ + " is damaged: the checksum of its codes is wrong. Restore it from a backup.");
    for (uint64_t i = 0; spare > 0 && i < count; ++i)
        if (codes()[(i + 1) * words - 1] >> (64 - spare) != 0)
            throw FileError(name_ + " is malformed: code " + std::to_string(i) +
                            " has bits beyond n_bits. Write it again with save.");
    if (header_.has_ids) {
        if (Checksum::of(ids(), count * 8) != header_.ids_checksum)
            throw FileError(name_ + " is damaged: the checksum of its ids is wrong. Restore it from a backup.");
        for (uint64_t i = 0; i < count; ++i)
            if (ids()[i] < 0 || (i > 0 && ids()[i] <= ids()[i - 1]) || ids()[i] > header_.max_id)
                throw FileError(name_ + " is malformed: its ids are not ascending. Write it again with save.");
    }
    verified_.store(true, std::memory_order_release);
}

void MappedFile::check_header(const unsigned char* block) {
    std::memcpy(&header_, block, sizeof header_);
    if (std::memcmp(header_.magic, kMagic, sizeof kMagic) != 0)
        throw FileError(name_ +
                        " is not an index: it does not begin with STHHAMIX. Open a file that save has written.");
    if (header_.version != kFileVersion)
        throw FileError(name_ + " has version " + std::to_string(header_.version) +
                        ", but this release reads version " + std::to_string(kFileVersion) +
                        ". Upgrade sthash, or restore the file if it is damaged.");
    uint64_t stored;
    std::memcpy(&stored, block + kHeaderBytes - 8, 8);
    if (Checksum::of(block, kHeaderBytes - 8) != stored)
        throw FileError(name_ + " is damaged: the checksum of its header is wrong. Restore it from a backup.");
    const bool sane = header_.n_bits >= 1 && header_.n_bits <= kMaxBits && header_.count < UINT32_MAX &&
                      header_.has_ids <= 1 && header_.max_id >= -1 && header_.first_id >= 0 &&
                      (header_.has_ids || header_.count == 0 ||
                       (header_.first_id <= header_.max_id &&
                        header_.count - 1 <= static_cast<uint64_t>(header_.max_id - header_.first_id)));
    if (!sane) throw FileError(name_ + " is malformed: its header contradicts itself. Write it again with save.");
    const uint64_t expected = kHeaderBytes + codes_bytes() + (header_.has_ids ? header_.count * 8 : 0);
    if (size_ != expected)
        throw FileError(name_ + " is damaged: it has " + std::to_string(size_) + " bytes instead of " +
                        std::to_string(expected) + ". Restore it from a backup.");
}

void MappedFile::check_unchanged() const {
    if (mapping_->status() != status_)
        throw FileError(name_ +
                        " was changed while it was mapped. Open it again, and replace it only with save, which "
                        "leaves the old file to those who have it open.");
}

void MappedFile::read_all(int descriptor, void* target, uint64_t size, uint64_t at) const {
    char* p = static_cast<char*>(target);
    while (size > 0) {
        const size_t count = read_at(descriptor, p, size, at);
        if (count == 0) throw FileError(name_ + " is damaged: it ended while it was read. Restore it from a backup.");
        p += count;
        at += count;
        size -= count;
    }
}

std::shared_ptr<Snapshot> open_snapshot(std::shared_ptr<const MappedFile> file) {
    const FileHeader& header = file->header();
    auto snapshot = std::make_shared<Snapshot>(static_cast<int>(header.n_bits));
    snapshot->slots = header.count;
    snapshot->max_id = header.max_id;
    for (uint64_t first = 0; first < header.count; first += kPageSlots) {
        auto page = std::make_shared<Page>();
        page->owner = file;
        page->codes = file->codes() + first * snapshot->words;
        page->ids = file->ids() ? file->ids() + first : nullptr;
        page->first_id = after_id(header.first_id, first);
        page->count = static_cast<uint32_t>(std::min<uint64_t>(kPageSlots, header.count - first));
        snapshot->pages.push_back(std::move(page));
    }
    snapshot->file = std::move(file);
    return snapshot;
}

namespace {

void write_all(int descriptor, const void* data, size_t size, uint64_t at) {
    const char* p = static_cast<const char*>(data);
    while (size > 0) {
        const size_t written = write_at(descriptor, p, size, at);
        p += written;
        at += written;
        size -= written;
    }
}

}  // namespace

void write_snapshot(const Snapshot& snapshot, int descriptor) {
    FileHeader header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.version = kFileVersion;
    header.n_bits = static_cast<uint32_t>(snapshot.n_bits);
    header.count = snapshot.slots;
    header.max_id = snapshot.max_id;
    header.first_id = snapshot.slots > 0 ? snapshot.id_of(0) : 0;
    for (uint64_t i = 0; i < snapshot.pages.size(); ++i) {
        const Page& page = *snapshot.pages[i];
        header.has_ids |= page.ids != nullptr || page.first_id != after_id(header.first_id, i * kPageSlots);
    }
    uint64_t at = kHeaderBytes;
    Checksum codes, ids;
    for (const auto& page : snapshot.pages) {
        const size_t size = size_t{page->count} * snapshot.words * 8;
        codes.update(page->codes, size);
        write_all(descriptor, page->codes, size, at);
        at += size;
    }
    std::vector<int64_t> buffer(header.has_ids ? kPageSlots : 0);
    for (size_t i = 0; header.has_ids && i < snapshot.pages.size(); ++i) {
        const Page& page = *snapshot.pages[i];
        for (uint32_t j = 0; j < page.count; ++j) buffer[j] = page.id(j);
        ids.update(buffer.data(), size_t{page.count} * 8);
        write_all(descriptor, buffer.data(), size_t{page.count} * 8, at);
        at += size_t{page.count} * 8;
    }
    header.codes_checksum = codes.digest();
    header.ids_checksum = ids.digest();
    std::vector<unsigned char> block(kHeaderBytes, 0);
    std::memcpy(block.data(), &header, sizeof header);
    const uint64_t checksum = Checksum::of(block.data(), kHeaderBytes - 8);
    std::memcpy(block.data() + kHeaderBytes - 8, &checksum, 8);
    write_all(descriptor, block.data(), kHeaderBytes, 0);
}

}  // namespace sthash::hamming
