// What the bindings check, so that no argument can make a kernel read or write beyond its arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace sthash {

// A whole number from Python. One beyond the range of T counts as the nearest that T holds: no kernel can tell the
// two apart, as every one of them is refused or means "all".
template <class T>
struct Whole {
    T value{};
    operator T() const { return value; }
};

// Refuses an argument; `message` says what is wrong and what to do.
inline void check(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

// Rows and columns are numbered by int32.
inline constexpr size_t kMostRows = std::numeric_limits<int32_t>::max();

// Threads that a kernel may start; each takes memory of its own.
struct Threads : Whole<int> {
    operator int() const { return std::clamp(value, 1, 1024); }
};

// Refuses a table of answers, `k` for each of `count` rows, that no memory holds.
inline void check_answers(size_t count, size_t k) {
    constexpr size_t kMost = size_t{1} << 40;
    check(k >= 1 && k <= std::numeric_limits<int32_t>::max(), "k must be from 1 to 2147483647. Ask for fewer.");
    check(count <= kMost / k, "The k best of so many rows do not fit into memory. Ask in smaller batches.");
}

}  // namespace sthash

namespace nanobind::detail {

template <class Number>
struct whole_caster {
    NB_TYPE_CASTER(Number, const_name("int"))

    bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
        using T = decltype(Number::value);
        if (!PyLong_Check(src.ptr()) && !PyIndex_Check(src.ptr())) return false;
        PyObject* const number = PyNumber_Index(src.ptr());
        int overflow = 0;
        const long long given = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
        if (number == nullptr) PyErr_Clear();
        Py_XDECREF(number);
        constexpr auto kLeast = static_cast<long long>(std::numeric_limits<T>::min());
        constexpr auto kMost = static_cast<long long>(
            std::min<unsigned long long>(std::numeric_limits<T>::max(), std::numeric_limits<long long>::max()));
        value.value = static_cast<T>(overflow < 0 ? kLeast : overflow > 0 ? kMost : std::clamp(given, kLeast, kMost));
        return number != nullptr;
    }

    static handle from_cpp(const Number& number, rv_policy, cleanup_list*) noexcept {
        return PyLong_FromLongLong(static_cast<long long>(number.value));
    }
};

template <class T>
struct type_caster<sthash::Whole<T>> : whole_caster<sthash::Whole<T>> {};
template <>
struct type_caster<sthash::Threads> : whole_caster<sthash::Threads> {};

}  // namespace nanobind::detail
