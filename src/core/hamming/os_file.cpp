#include "hamming/os_file.hpp"

#if defined(_WIN32)
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <io.h>
#include <windows.h>
#undef near  // words that Windows defines as nothing
#undef far
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace sthash::hamming {

#if defined(_WIN32)
[[noreturn]] static void throw_file_error(const char* what) {
    throw std::system_error(static_cast<int>(GetLastError()), std::system_category(), what);
}

static HANDLE handle_of(int descriptor) {
    return reinterpret_cast<HANDLE>(_get_osfhandle(descriptor));
}

FileStatus status_of(int descriptor) {
    BY_HANDLE_FILE_INFORMATION status;
    if (GetFileType(handle_of(descriptor)) != FILE_TYPE_DISK) return {};
    if (!GetFileInformationByHandle(handle_of(descriptor), &status)) throw_file_error("GetFileInformationByHandle");
    return {uint64_t{status.nFileSizeHigh} << 32 | status.nFileSizeLow,
            static_cast<int64_t>(status.ftLastWriteTime.dwHighDateTime),
            static_cast<int64_t>(status.ftLastWriteTime.dwLowDateTime)};
}

size_t read_at(int descriptor, void* target, size_t size, uint64_t at) {
    OVERLAPPED place{};
    place.Offset = static_cast<DWORD>(at);
    place.OffsetHigh = static_cast<DWORD>(at >> 32);
    DWORD count = 0;
    const auto most = static_cast<DWORD>(std::min<size_t>(size, size_t{1} << 30));
    if (!ReadFile(handle_of(descriptor), target, most, &count, &place) && GetLastError() != ERROR_HANDLE_EOF)
        throw_file_error("read");
    return count;
}

size_t write_at(int descriptor, const void* data, size_t size, uint64_t at) {
    OVERLAPPED place{};
    place.Offset = static_cast<DWORD>(at);
    place.OffsetHigh = static_cast<DWORD>(at >> 32);
    DWORD count = 0;
    const auto most = static_cast<DWORD>(std::min<size_t>(size, size_t{1} << 30));
    if (!WriteFile(handle_of(descriptor), data, most, &count, &place)) throw_file_error("write");
    return count;
}
#else
[[noreturn]] static void throw_file_error(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

FileStatus status_of(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) throw_file_error("fstat");
#if defined(__APPLE__)
    const struct timespec& changed = status.st_mtimespec;
#else
    const struct timespec& changed = status.st_mtim;
#endif
    return {S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0, int64_t{changed.tv_sec},
            int64_t{changed.tv_nsec}};
}

size_t read_at(int descriptor, void* target, size_t size, uint64_t at) {
    for (;;) {
        const ssize_t count = pread(descriptor, target, size, static_cast<off_t>(at));
        if (count >= 0) return static_cast<size_t>(count);
        if (errno != EINTR) throw_file_error("read");
    }
}

size_t write_at(int descriptor, const void* data, size_t size, uint64_t at) {
    for (;;) {
        const ssize_t count = pwrite(descriptor, data, size, static_cast<off_t>(at));
        if (count >= 0) return static_cast<size_t>(count);
        if (errno != EINTR) throw_file_error("write");
    }
}
#endif

FileMapping::FileMapping(int descriptor, uint64_t size) : size_(size) {
#if defined(_WIN32)
    descriptor_ = _dup(descriptor);
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "dup");
    const HANDLE mapping = CreateFileMappingW(handle_of(descriptor), nullptr, PAGE_READONLY, 0, 0, nullptr);
    if (mapping != nullptr) {
        data_ = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(mapping);  // the view keeps it
    }
    if (data_ == nullptr) {
        const DWORD error = GetLastError();
        _close(descriptor_);
        SetLastError(error);
        throw_file_error("MapViewOfFile");
    }
#else
    descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) throw_file_error("fcntl");
    data_ = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data_ == MAP_FAILED) {
        const int error = errno;
        close(descriptor_);
        errno = error;
        throw_file_error("mmap");
    }
#endif
}

FileMapping::~FileMapping() {
#if defined(_WIN32)
    UnmapViewOfFile(data_);
    _close(descriptor_);
#else
    munmap(data_, size_);
    close(descriptor_);
#endif
}

}  // namespace sthash::hamming
