// What the bindings share: array types, and calls that Ctrl-C can interrupt.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <vector>

#include "deadline.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace sthash {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Hands a vector over to NumPy without a copy.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, std::initializer_list<size_t> shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values) {
    const size_t size = values.size();
    return to_numpy(std::move(values), {size});
}

// Calls look(); false if it raises an error of Python, which is then the current one.
template <class Look>
bool looked(Look&& look) {
    try {
        look();
        return true;
    } catch (nb::python_error& error) {
        error.restore();
        return false;
    }
}

// Runs work(stop) on a thread of its own with the GIL released. Python looks at its signals ten times per second
// meanwhile: on Ctrl-C the flag is set, the work ends at its next look at it, and KeyboardInterrupt is raised. If no
// thread can be started, the work runs on the caller's, and Ctrl-C waits for its end. `look` is called as often as the
// signals are looked at, with the GIL; an error that it raises ends the work too.
template <class Work, class Look>
void interruptible(Work&& work, Look&& look) {
    if (Deadline::has_passed()) throw nb::python_error();
    StopFlag stop{false};
    std::exception_ptr failure;
    bool done = false, interrupted = false;
    std::mutex mutex;
    std::condition_variable finished;
    {
        nb::gil_scoped_release released;
        const auto run = [&] {
            try {
                work(stop);
            } catch (...) {
                failure = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            done = true;
            finished.notify_one();
        };
        std::thread worker = try_thread(run);
        if (!worker.joinable()) run();
        std::unique_lock lock(mutex);
        while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return done; })) {
            lock.unlock();
            if (!interrupted) {
                nb::gil_scoped_acquire acquired;
                interrupted = PyErr_CheckSignals() != 0 || Deadline::has_passed() || !looked(look);
                if (interrupted) stop.store(true);
            }
            lock.lock();
        }
        lock.unlock();
        if (worker.joinable()) worker.join();
    }
    if (interrupted) throw nb::python_error();
    if (failure) std::rethrow_exception(failure);
}

template <class Work>
void interruptible(Work&& work) {
    interruptible(work, [] {});
}

// The same, while report(done, total) of Python is told how far work(stop, progress) is; None if nobody wants to know.
template <class Work>
void reporting(const nb::object& report, Work&& work) {
    Progress progress;
    size_t last = 0;
    interruptible([&](StopFlag& stop) { work(stop, progress); },
                  [&] {
                      const size_t total = progress.total.load(), done = std::min(progress.done.load(), total);
                      if (report.is_none() || done == last) return;
                      last = done;
                      report(done, total);
                  });
}

// Runs work(stop) on the caller's own thread if it is brief: to start a thread would take longer.
template <class Work>
void interruptible_unless(bool brief, Work&& work) {
    if (!brief) return interruptible(work);
    const nb::gil_scoped_release released;
    StopFlag stop{false};
    work(stop);
}

void bind_checksums(nb::module_& module);
void bind_text(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_svm(nb::module_& module);
void bind_spectral(nb::module_& module);
void bind_hamming(nb::module_& module);
void bind_ranking(nb::module_& module);
void bind_projection(nb::module_& module);
void bind_postings(nb::module_& module);
void bind_join(nb::module_& module);
void bind_quantizer(nb::module_& module);
void bind_cells(nb::module_& module);

}  // namespace sthash
