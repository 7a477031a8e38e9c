// The checksum of a row of values, as it stands in files and in fingerprints; see sthash.checksums.
#include <nanobind/stl/string.h>

#include <charconv>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "crc32.hpp"

namespace sthash {

namespace {

constexpr uint32_t kInt = 0x80000000, kNone = 0xC0000000, kStr = 0xE0000000;

std::string_view view_of(PyObject* bytes) {
    return {PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

uint32_t add(std::string_view content, uint32_t start) {
    return crc32(content.data(), content.size(), start);
}

uint32_t with_int(PyObject* value, uint32_t total) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
        const nb::object text = nb::steal(PyObject_Str(value));
        if (!text.is_valid()) throw nb::python_error();
        return add(nb::str(text).c_str(), total ^ kInt);
    }
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return add({digits, static_cast<size_t>(end - digits)}, total ^ kInt);
}

uint32_t with_value(PyObject* value, uint32_t total) {
    if (PyBytes_CheckExact(value)) {
        const std::string_view content = view_of(value);
        return add(content, total ^ static_cast<uint32_t>(content.size()));
    }
    if (PyLong_CheckExact(value)) return with_int(value, total);
    if (value == Py_None) return total ^ kNone ^ 0xFFFFFFFF;
    if (PyUnicode_CheckExact(value)) {
        const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass"));
        if (!encoded.is_valid()) throw nb::python_error();
        return add(view_of(encoded.ptr()), total ^ kStr);
    }
    const std::string name =
        nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(value))).attr("__name__")));
    throw nb::type_error(("no checksum for a " + name).c_str());
}

uint32_t row_checksum(const nb::tuple& values) {
    uint32_t total = 0;
    for (nb::handle value : values) total = with_value(value.ptr(), total);
    return total;
}

}  // namespace

void bind_checksums(nb::module_& module) {
    module.def("row_checksum", &row_checksum, nb::arg("values"));
}

}  // namespace sthash
