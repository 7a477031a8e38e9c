// The extension module sthash._core: one bind_* function a room.
#include "bindings.hpp"
#include "simd.hpp"

namespace sthash {

NB_MODULE(_core, module) {
    active_path() = choose_path();
    module.def("simd_path", [] { return name_of(active_path()); });
    module.def("simd_paths", [] {
        nb::list names;
        for (SimdPath path : available_paths()) names.append(name_of(path));
        return names;
    });
    module.def("hardware_threads", &hardware_threads);
    bind_text(module);
    bind_graph(module);
    bind_svm(module);
    bind_hamming(module);
    bind_collection(module);
}

}  // namespace sthash
