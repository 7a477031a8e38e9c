// Splitting a loop over threads, in a way that can be stopped from outside.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sys/mman.h>
#endif

namespace sthash {

// Set from outside to end work early; whoever works looks at it now and then.
using StopFlag = std::atomic<bool>;

// How far work is: raised by whoever works, read by whoever waits. Nothing is known as long as `total` is 0.
struct Progress {
    std::atomic<size_t> done{0}, total{0};
};

// Address space that must be left beside the stack of a new thread. The C library ends the process where a thread finds
// no memory for its thread-local data, and that is only allocated when the thread already runs.
constexpr size_t kThreadRoom = size_t{32} << 20;

// Whether there is room for one more thread.
inline bool has_room_for_thread() {
#if defined(__unix__) || defined(__APPLE__)
    pthread_attr_t attributes;
    size_t stack = 0;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_destroy(&attributes);
    void* room = mmap(nullptr, stack + kThreadRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    munmap(room, stack + kThreadRoom);
#endif
    return true;
}

// Starts a thread; the result is not joinable if there is no room for it, or the system allows no more of them.
template <class Work>
std::thread try_thread(Work&& work) {
    try {
        if (has_room_for_thread()) return std::thread(std::forward<Work>(work));
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    return {};
}

// Calls body(begin, end, thread) for pieces of [0, count) of at most `grain` items, on up to `threads`
// threads, the caller's own among them. Pieces are handed out in order; none is started once `stop` is set.
// The first exception thrown by a body ends the loop and is thrown again here. Where a thread cannot be started (a
// limit on processes, little memory), the loop goes on with those that run.
template <class Body>
void parallel_for(size_t count, size_t grain, int threads, StopFlag& stop, Body&& body) {
    grain = std::max<size_t>(grain, 1);
    const size_t pieces = (count + grain - 1) / grain;
    const int workers = static_cast<int>(std::min<size_t>(std::max(threads, 1), pieces));
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    auto work = [&](int thread) {
        try {
            for (size_t piece; !stop.load(std::memory_order_relaxed) && (piece = next.fetch_add(1)) < pieces;)
                body(piece * grain, std::min(count, (piece + 1) * grain), thread);
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
            next.store(pieces);
        }
    };
    std::vector<std::thread> helpers(std::max(workers - 1, 0));
    for (int thread = 1; thread < workers; ++thread) {
        helpers[thread - 1] = try_thread([&work, thread] { work(thread); });
        if (!helpers[thread - 1].joinable()) break;
    }
    if (workers > 0) work(0);
    for (std::thread& helper : helpers)
        if (helper.joinable()) helper.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace sthash
