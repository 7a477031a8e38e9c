// The file of an index, version 1. Little-endian; every byte of it is covered by a checksum.
//
//   0      FileHeader, the rest of its 4096 bytes zero
//   4096   codes: `count` rows of ceil(n_bits / 64) words, in the order of their ids
//   then   ids: `count` int64, ascending; left out if they run from first_id on
//
// A file is read, or mapped. Mapping takes no time: only the header and the length are checked at once; the codes and
// ids are checked, in full, before they are first used. A mapped file must not be changed in place. Before each use its
// size and time of change are compared; what happens within a use cannot be noticed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "hamming/os_file.hpp"
#include "hamming/snapshot.hpp"

namespace sthash::hamming {

struct FileHeader {
    char magic[8];
    uint32_t version;
    uint32_t n_bits;
    uint64_t count;
    int64_t max_id;
    int64_t first_id;
    uint64_t has_ids;
    uint64_t codes_checksum;
    uint64_t ids_checksum;
};
static_assert(sizeof(FileHeader) == 64);

class FileError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class MappedFile {
 public:
    // Maps the file, or reads it if `map` is false.
    MappedFile(int descriptor, bool map, std::string name);

    const FileHeader& header() const { return header_; }
    const uint64_t* codes() const;
    const int64_t* ids() const;

    // Checks that a mapped file is still as it was, and codes and ids, once; throws each time if they are damaged.
    void verify() const;

 private:
    uint64_t codes_bytes() const { return header_.count * ((header_.n_bits + 63) / 64) * 8; }

    void check_header(const unsigned char* block);
    // A file that was replaced by renaming another over it is unchanged: the mapping keeps the old one.
    void check_unchanged() const;

    void read_all(int descriptor, void* target, uint64_t size, uint64_t at) const;

    const std::string name_;
    const std::byte* data_ = nullptr;
    uint64_t size_ = 0;
    FileStatus status_;
    std::optional<FileMapping> mapping_;  // none if the file was read
    FileHeader header_;
    std::unique_ptr<uint64_t[]> memory_;
    mutable std::atomic<bool> verified_{false};
    mutable std::mutex mutex_;
};

std::shared_ptr<Snapshot> open_snapshot(std::shared_ptr<const MappedFile> file);

// Writes a snapshot without dead codes and sorted by id; see compacted().
void write_snapshot(const Snapshot& snapshot, int descriptor);

}  // namespace sthash::hamming
