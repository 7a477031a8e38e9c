// The extension module sthash._core: views of arrays, and one bind_* function per package.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "simd.hpp"
#include "views.hpp"

namespace sthash {

namespace {

void bind_views(nb::module_& module) {
    nb::class_<CsrArrays>(module, "CsrView")
        .def(
            "__init__",
            [](CsrArrays* self, Vector<int64_t> indptr, Vector<int32_t> indices, Vector<float> values, bool dense) {
                new (self) CsrArrays(std::move(indptr), std::move(indices), std::move(values), dense);
            },
            nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::kw_only(), nb::arg("dense") = false);
    nb::class_<PackedArrays>(module, "PackedView")
        .def(
            "__init__",
            [](PackedArrays* self, Vector<int32_t> content, Vector<int64_t> starts, Vector<int64_t> ends,
               Whole<size_t> n_columns, bool dense, bool checked) {
                new (self)
                    PackedArrays(std::move(content), std::move(starts), std::move(ends), n_columns, dense, checked);
            },
            nb::arg("content"), nb::arg("starts"), nb::arg("ends"), nb::kw_only(), nb::arg("n_columns"),
            nb::arg("dense") = false, nb::arg("checked") = false);
}

}  // namespace

NB_MODULE(_core, module) {
    active_path() = choose_path();
    module.def("simd_path", [] { return name_of(active_path()); });
    module.def("simd_paths", [] {
        nb::list names;
        for (SimdPath path : available_paths()) names.append(name_of(path));
        return names;
    });
    module.def("set_time_limit", &Deadline::set, nb::arg("seconds").none());
    bind_views(module);
    bind_text(module);
    bind_graph(module);
    bind_svm(module);
    bind_spectral(module);
    bind_hamming(module);
    bind_collection(module);
    bind_postings(module);
    bind_reranking(module);
    bind_join(module);
    bind_quantizer(module);
    bind_cells(module);
}

}  // namespace sthash
