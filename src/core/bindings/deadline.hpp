// A point in time after which the kernels that a thread calls give up, so that a service can free the thread.
#pragma once

#include <Python.h>

#include <chrono>
#include <optional>

namespace sthash {

class Deadline {
 public:
    // Sets the deadline of the calling thread, from now on; without a number there is none.
    static void set(std::optional<double> seconds) {
        const auto span = std::chrono::duration<double>(seconds.value_or(0));
        point() =
            seconds ? std::optional(Clock::now() + std::chrono::duration_cast<Clock::duration>(span)) : std::nullopt;
    }

    // Whether the deadline of the calling thread has passed; if so, a TimeoutError is set. Needs the GIL.
    static bool has_passed() {
        if (!point() || Clock::now() < *point()) return false;
        PyErr_SetString(PyExc_TimeoutError, "the time limit has passed. Ask for less, or allow more time.");
        return true;
    }

 private:
    using Clock = std::chrono::steady_clock;

    static std::optional<Clock::time_point>& point() {
        static thread_local std::optional<Clock::time_point> value;
        return value;
    }
};

}  // namespace sthash
