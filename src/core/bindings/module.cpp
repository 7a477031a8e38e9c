// The extension module sthash._core: views of arrays, and one bind_* function per package.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "simd.hpp"
#include "views.hpp"

namespace sthash {

namespace {

void bind_views(nb::module_& module) {
    nb::class_<RowArrays>(module, "RowsView")
        .def(
            "__init__",
            [](RowArrays* self, Vector<int64_t> starts, Vector<int64_t> ends, std::optional<Vector<int32_t>> columns,
               Vector<float> values, Whole<size_t> n_columns, bool checked) {
                new (self) RowArrays(std::move(starts), std::move(ends), std::move(columns), std::move(values),
                                     n_columns, checked);
            },
            nb::arg("starts"), nb::arg("ends"), nb::arg("columns").none(), nb::arg("values"), nb::kw_only(),
            nb::arg("n_columns"), nb::arg("checked") = false);
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
    bind_checksums(module);
    bind_text(module);
    bind_graph(module);
    bind_svm(module);
    bind_spectral(module);
    bind_hamming(module);
    bind_projection(module);
    bind_ranking(module);
    bind_postings(module);
    bind_join(module);
    bind_quantizer(module);
    bind_cells(module);
}

}  // namespace sthash
