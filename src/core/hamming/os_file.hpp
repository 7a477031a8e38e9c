// Open files as POSIX and Windows have them, by their descriptors. What fails throws std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::hamming {

struct FileStatus {
    uint64_t size = 0;                  // 0 for what is no regular file
    int64_t seconds = 0, fraction = 0;  // when it was changed
    friend bool operator==(const FileStatus&, const FileStatus&) = default;
};

FileStatus status_of(int descriptor);

// Reads at most `size` bytes and returns how many; 0 at the end of the file.
size_t read_at(int descriptor, void* target, size_t size, uint64_t at);

// Writes at most `size` bytes and returns how many.
size_t write_at(int descriptor, const void* data, size_t size, uint64_t at);

// A file as memory that can be read. It keeps a descriptor of its own.
class FileMapping {
 public:
    FileMapping(int descriptor, uint64_t size);
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    ~FileMapping();

    const std::byte* data() const { return static_cast<const std::byte*>(data_); }
    FileStatus status() const { return status_of(descriptor_); }

 private:
    void* data_ = nullptr;
    uint64_t size_ = 0;
    int descriptor_ = -1;
};

}  // namespace sthash::hamming
