/* Records every change of the files in the folder POWER_FOLDER to the file POWER_RECORD, in order: what a power cut may
   leave of them is then worked out by power_cuts.py. Preloaded: cc -shared -fPIC -o recorder.so power_recorder.c -ldl

   A record is: a letter, three 64-bit numbers (inode, place, number of bytes that follow), the bytes.
     C created (name)   W written   T cut to a length   S file synced   D folder synced
     U unlinked (name)  R renamed (two names, a newline between)   L linked (likewise)  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FILES 4096
#define MOST_NAME 1024
#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static struct {
    char on, is_folder;
    uint64_t inode;
} files[MOST_FILES];
static char folder[MOST_NAME];
static int record = -1;
static ssize_t (*real_write)(int, const void*, size_t);
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void start(void) {
    static int done;
    if (done) return;
    done = 1;
    real_write = (__typeof__(real_write))dlsym(RTLD_NEXT, "write");
    const char *where = getenv("POWER_FOLDER"), *into = getenv("POWER_RECORD");
    if (!where || !into || strlen(where) >= MOST_NAME) return;
    int (*real_open)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
    record = real_open(into, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    strcpy(folder, where);
}

static void put(char what, uint64_t inode, uint64_t place, const void* bytes, uint64_t count) {
    if (record < 0) return;
    char head[25] = {what};
    memcpy(head + 1, &inode, 8);
    memcpy(head + 9, &place, 8);
    memcpy(head + 17, &count, 8);
    pthread_mutex_lock(&turn);
    if (real_write(record, head, sizeof head) != sizeof head || (count && real_write(record, bytes, count) != (ssize_t)count)) abort();
    pthread_mutex_unlock(&turn);
}

static int is_inside(const char* path) {
    start();
    return record >= 0 && path && !strncmp(path, folder, strlen(folder));
}

static int is_on(int file) { return file >= 0 && file < MOST_FILES && files[file].on; }

static int opened(int file, const char* path, int flags, int existed) {
    if (file < 0 || file >= MOST_FILES) return file;
    files[file].on = 0;
    struct stat status;
    if (!is_inside(path) || fstat(file, &status)) return file;
    files[file].on = 1;
    files[file].is_folder = S_ISDIR(status.st_mode);
    files[file].inode = status.st_ino;
    if (files[file].is_folder) return file;
    if (!existed)
        put('C', status.st_ino, 0, path, strlen(path));
    else if (flags & O_TRUNC)
        put('T', status.st_ino, 0, 0, 0);
    return file;
}

static int exists(const char* path) {
    struct stat status;
    return !is_inside(path) || stat(path, &status) == 0;
}

#define OPEN(name) \
    int name(const char* path, int flags, ...) { \
        REAL(name); \
        va_list more; \
        va_start(more, flags); \
        int mode = va_arg(more, int); \
        va_end(more); \
        int existed = exists(path); \
        return opened(real(path, flags, mode), path, flags, existed); \
    }
OPEN(open)
OPEN(open64)

#define OPEN_AT(name) \
    int name(int at, const char* path, int flags, ...) { \
        REAL(name); \
        va_list more; \
        va_start(more, flags); \
        int mode = va_arg(more, int); \
        va_end(more); \
        int existed = exists(path); \
        return opened(real(at, path, flags, mode), path, flags, existed); \
    }
OPEN_AT(openat)
OPEN_AT(openat64)

int close(int file) {
    REAL(close);
    if (file == record && file >= 0) return 0;
    if (file >= 0 && file < MOST_FILES) files[file].on = 0;
    return real(file);
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t place) {
    REAL(pwrite);
    ssize_t done = real(file, bytes, count, place);
    if (done > 0 && is_on(file)) put('W', files[file].inode, place, bytes, done);
    return done;
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t place) {
    REAL(pwrite64);
    ssize_t done = real(file, bytes, count, place);
    if (done > 0 && is_on(file)) put('W', files[file].inode, place, bytes, done);
    return done;
}

ssize_t write(int file, const void* bytes, size_t count) {
    start();
    off_t place = is_on(file) ? lseek(file, 0, SEEK_CUR) : 0;
    ssize_t done = real_write(file, bytes, count);
    if (done > 0 && is_on(file)) put('W', files[file].inode, place, bytes, done);
    return done;
}

ssize_t writev(int file, const struct iovec* parts, int count) {
    REAL(writev);
    if (!is_on(file)) return real(file, parts, count);
    ssize_t done = 0;
    for (int i = 0; i < count; ++i) {
        ssize_t part = write(file, parts[i].iov_base, parts[i].iov_len);
        if (part < 0) return done ? done : part;
        done += part;
    }
    return done;
}

static void synced(int file) {
    if (is_on(file)) put(files[file].is_folder ? 'D' : 'S', files[file].inode, 0, 0, 0);
}

int fsync(int file) {
    REAL(fsync);
    int status = real(file);
    synced(file);
    return status;
}

int fdatasync(int file) {
    REAL(fdatasync);
    int status = real(file);
    synced(file);
    return status;
}

int ftruncate(int file, off_t size) {
    REAL(ftruncate);
    int status = real(file, size);
    if (!status && is_on(file)) put('T', files[file].inode, size, 0, 0);
    return status;
}

int ftruncate64(int file, off64_t size) {
    REAL(ftruncate64);
    int status = real(file, size);
    if (!status && is_on(file)) put('T', files[file].inode, size, 0, 0);
    return status;
}

int unlink(const char* path) {
    REAL(unlink);
    int status = real(path);
    if (!status && is_inside(path)) put('U', 0, 0, path, strlen(path));
    return status;
}

static void named(char what, const char* from, const char* to) {
    char both[2 * MOST_NAME];
    if (is_inside(from) && is_inside(to)) {
        int count = snprintf(both, sizeof both, "%s\n%s", from, to);
        put(what, 0, 0, both, count);
    }
}

int rename(const char* from, const char* to) {
    REAL(rename);
    int status = real(from, to);
    if (!status) named('R', from, to);
    return status;
}

int link(const char* from, const char* to) {
    REAL(link);
    int status = real(from, to);
    if (!status) named('L', from, to);
    return status;
}

int linkat(int at, const char* from, int to_at, const char* to, int flags) {
    REAL(linkat);
    int status = real(at, from, to_at, to, flags);
    if (!status) named('L', from, to);
    return status;
}
