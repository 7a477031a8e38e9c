// HammingIndex as seen from Python. Arguments are validated there.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "arguments.hpp"
#include "bindings.hpp"
#include "hamming/index.hpp"
#include "hamming/join.hpp"

namespace sthash {
namespace {

using namespace hamming;
using Ids = std::optional<Vector<int64_t>>;
using Radius = std::optional<Whole<int>>;

// A radius in bits; without one all codes are within it.
int bits_of(const Radius& radius, const Index& index) {
    return radius ? std::clamp(radius->value, 0, index.n_bits()) : index.n_bits();
}

void check_ids(const Vector<int64_t>& ids, size_t count) {
    check(ids.size() == count, "Each code needs one id. Pass equally many of both.");
    for (size_t i = 0; i < count; ++i) check(ids.data()[i] >= 0, "Ids must not be negative. Use ids from 0 on.");
}

IdsView view_of(const Vector<int64_t>& ids) {
    return {ids.data(), ids.size()};
}

std::optional<IdsView> view_of(const Ids& ids) {
    return ids ? std::optional(view_of(*ids)) : std::nullopt;
}

// Rows of bytes as rows of whole words.
std::vector<uint64_t> to_words(const Matrix<uint8_t>& codes, const Index& index) {
    const size_t rows = codes.shape(0), bytes = codes.shape(1), words = static_cast<size_t>(index.words());
    const int last_bits = index.n_bits() % 8;
    check(bytes == (static_cast<size_t>(index.n_bits()) + 7) / 8,
          "Codes must be as long as those of the index. Make them with the same model.");
    for (size_t i = 0; last_bits != 0 && i < rows; ++i)
        check(codes.data()[(i + 1) * bytes - 1] >> last_bits == 0,
              "A code has a bit beyond the last one. Pack the codes with sthash.codes.pack.");
    std::vector<uint64_t> result(rows * words);
    if (rows == 0) return result;  // its data may be null
    if (bytes == words * 8)
        std::memcpy(result.data(), codes.data(), rows * bytes);
    else
        for (size_t i = 0; i < rows; ++i) std::memcpy(&result[i * words], codes.data() + i * bytes, bytes);
    return result;
}

// Short calls skip the thread that Ctrl-C needs: starting it would take longer than they do.
template <class Work>
void call(bool lengthy, Work&& work) {
    if (lengthy) {
        interruptible(work);
        return;
    }
    const nb::gil_scoped_release released;
    StopFlag stop{false};
    work(stop);
}

struct Call {
    // `k` is for the nearest only; without a radius all codes are within it.
    Call(Index& index, const Matrix<uint8_t>& codes, const Ids& allowed, Task task, size_t k, const Radius& radius,
         int threads)
        : index(index), allowed(view_of(allowed)) {
        queries = to_words(codes, index);
        request = {task, k, bits_of(radius, index), queries.data(), codes.shape(0), threads, index.strategy()};
        lengthy = index.lengthy(request, this->allowed);
    }

    void run(const Finish& finish) {
        call(lengthy, [&](StopFlag& stop) { index.search(request, allowed, stop, finish); });
    }

    Index& index;
    std::optional<IdsView> allowed;
    std::vector<uint64_t> queries;
    Request request;
    bool lengthy;
};

// An object of Python that is made once and kept. Two threads may make it at the same time; a lock around the making
// could block one that holds the GIL.
template <class Make>
PyObject* cached(std::atomic<PyObject*>& cache, Make&& make) {
    PyObject* held = cache.load(std::memory_order_acquire);
    if (held == nullptr) {
        PyObject* const made = nb::object(make()).release().ptr();
        if (cache.compare_exchange_strong(held, made, std::memory_order_acq_rel)) return made;
        Py_DECREF(made);
    }
    return held;
}

// A new NumPy array: for the small results of single queries, quicker than handing a vector over.
template <class T>
nb::object new_array(std::initializer_list<size_t> shape, T*& data) {
    static std::atomic<PyObject*> empty_cache{nullptr}, type_cache{nullptr};
    static constexpr const char* kName = std::is_same_v<T, float> ? "float32" : sizeof(T) == 8 ? "int64" : "int32";
    PyObject* const empty = cached(empty_cache, [] { return nb::module_::import_("numpy").attr("empty"); });
    PyObject* const type = cached(type_cache, [] { return nb::module_::import_("numpy").attr("dtype")(kName); });
    nb::object dimensions = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    Py_ssize_t axis = 0;
    for (size_t size : shape) PyTuple_SetItem(dimensions.ptr(), axis++, PyLong_FromSize_t(size));
    PyObject* arguments[] = {dimensions.ptr(), type};
    nb::object array = nb::steal(PyObject_Vectorcall(empty, arguments, 2, nullptr));
    Py_buffer view;
    if (!array.is_valid() || PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
    data = static_cast<T*>(view.buf);
    PyBuffer_Release(&view);
    return array;
}

nb::tuple search(Index& index, Matrix<uint8_t> codes, Whole<size_t> k, Radius radius, Ids allowed, Threads threads) {
    check_answers(codes.shape(0), k);
    Call call(index, codes, allowed, Task::nearest, k, radius, threads);
    const size_t count = call.request.count;
    int64_t* ids;
    int32_t* distances;
    nb::object id_array = new_array({count, k}, ids), distance_array = new_array({count, k}, distances);
    call.run([&](size_t query, Collector& collector) {
        size_t place = query * k;
        for (const Hit& hit : collector.finish()) {
            ids[place] = hit.id;
            distances[place++] = hit.distance;
        }
        std::fill(ids + place, ids + (query + 1) * k, -1);
        std::fill(distances + place, distances + (query + 1) * k, -1);
    });
    return nb::make_tuple(id_array, distance_array);
}

nb::tuple weighted_search(Index& index, Matrix<uint8_t> codes, Matrix<float> weights, Whole<size_t> k, Radius radius,
                          Ids allowed, Threads threads) {
    check_answers(codes.shape(0), k);
    const std::vector<uint64_t> queries = to_words(codes, index);
    const size_t count = codes.shape(0);
    check(weights.shape(0) == count && weights.shape(1) == static_cast<size_t>(index.n_bits()),
          "Each query needs one weight per bit. Pass one row per query and one column per bit.");
    const weighted::Request request{k, bits_of(radius, index), queries.data(), weights.data(), count, threads};
    int64_t* ids;
    float* distances;
    nb::object id_array = new_array({count, k}, ids), distance_array = new_array({count, k}, distances);
    const auto finish = [&](size_t query, weighted::Collector& collector) {
        size_t place = query * k;
        for (const weighted::Hit& hit : collector.finish()) {
            ids[place] = hit.id;
            distances[place++] = hit.distance;
        }
        std::fill(ids + place, ids + (query + 1) * k, -1);
        std::fill(distances + place, distances + (query + 1) * k, -1.0f);
    };
    const std::optional<IdsView> some = view_of(allowed);
    call(index.lengthy(request, some), [&](StopFlag& stop) { index.search(request, some, stop, finish); });
    return nb::make_tuple(id_array, distance_array);
}

nb::tuple radius_search(Index& index, Matrix<uint8_t> codes, Whole<int> radius, Ids allowed, Threads threads) {
    Call call(index, codes, allowed, Task::radius, 0, radius, threads);
    std::vector<std::vector<Hit>> hits(call.request.count);
    call.run([&](size_t query, Collector& collector) { hits[query] = std::move(collector.finish()); });
    int64_t *lims, *ids;
    int32_t* distances;
    nb::object lims_array = new_array({hits.size() + 1}, lims);
    lims[0] = 0;
    for (size_t q = 0; q < hits.size(); ++q) lims[q + 1] = lims[q] + static_cast<int64_t>(hits[q].size());
    const size_t total = static_cast<size_t>(lims[hits.size()]);
    nb::object id_array = new_array({total}, ids), distance_array = new_array({total}, distances);
    for (std::vector<Hit>& of_query : hits) {
        for (const Hit& hit : of_query) {
            *ids++ = hit.id;
            *distances++ = hit.distance;
        }
        std::vector<Hit>().swap(of_query);  // so that the hits are not held twice
    }
    return nb::make_tuple(lims_array, id_array, distance_array);
}

nb::ndarray<nb::numpy, int64_t> count(Index& index, Matrix<uint8_t> codes, Whole<int> radius, Ids allowed,
                                      Threads threads) {
    Call call(index, codes, allowed, Task::count, 0, radius, threads);
    std::vector<int64_t> counts(call.request.count);
    call.run([&](size_t query, Collector& collector) { counts[query] = static_cast<int64_t>(collector.count()); });
    return to_numpy(std::move(counts));
}

nb::object add(Index& index, Matrix<uint8_t> codes, Ids ids) {
    const std::vector<uint64_t> words = to_words(codes, index);
    const size_t count = codes.shape(0);
    if (ids) check_ids(*ids, count);
    int64_t* given;
    nb::object array = new_array({count}, given);
    call(false, [&](StopFlag&) {
        const int64_t first = index.add(words.data(), ids ? ids->data() : nullptr, count);
        for (size_t i = 0; i < count; ++i) given[i] = ids ? ids->data()[i] : after_id(first, i);
    });
    return array;
}

nb::ndarray<nb::numpy, uint8_t> codes_of(Index& index, Vector<int64_t> ids) {
    std::vector<uint8_t> codes;
    size_t bytes = 0;
    call(false, [&](StopFlag&) {
        const auto [now, slots] = index.locate(view_of(ids));
        bytes = (static_cast<size_t>(now->n_bits) + 7) / 8;
        codes.resize(ids.size() * bytes);
        for (size_t i = 0; i < slots.size(); ++i) {
            if (slots[i] < 0) throw UnknownId(ids.data()[i]);
            std::memcpy(&codes[i * bytes], now->code_of(static_cast<uint32_t>(slots[i])), bytes);
        }
    });
    return to_numpy(std::move(codes), {ids.size(), bytes});
}

nb::ndarray<nb::numpy, int64_t> all_ids(Index& index) {
    std::vector<int64_t> ids;
    call(false, [&](StopFlag&) {
        const auto now = index.snapshot();
        ids.reserve(now->size());
        for (uint64_t slot = 0; slot < now->slots; ++slot)
            if (!now->is_dead(static_cast<uint32_t>(slot))) ids.push_back(now->id_of(static_cast<uint32_t>(slot)));
        if (!now->sorted) std::sort(ids.begin(), ids.end());
    });
    return to_numpy(std::move(ids));
}

nb::dict stats(Index& index) {
    const auto now = index.glance();
    const Usage usage = index.usage();
    const Tally& tally = index.tally();
    nb::dict result;
    result["size"] = now->size();
    result["dead"] = now->dead;
    result["code_bytes"] = usage.codes;
    result["id_bytes"] = usage.ids;
    result["table_bytes"] = usage.tables;
    result["in_tables"] = usage.table_slots;
    result["scanned_in_batches"] = tally.sliced_scan.load();
    result["scanned_singly"] = tally.plain_scan.load();
    result["probed"] = tally.tables.load();
    result["enumerated"] = tally.ball.load();
    result["weighted"] = tally.weighted.load();
    return result;
}

nb::tuple next_pairs(Join& join) {
    PairBlock block;
    interruptible([&](StopFlag& stop) { block = join.next(stop); });
    return nb::make_tuple(to_numpy(std::move(block.left)), to_numpy(std::move(block.right)),
                          to_numpy(std::move(block.distances)));
}

void translate(const std::exception_ptr& pointer, void*) {
    try {
        std::rethrow_exception(pointer);
    } catch (const UnknownId& error) {
        PyErr_SetString(PyExc_KeyError, error.what());
    } catch (const DuplicateId& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const FileError& error) {
        const nb::object type = nb::module_::import_("sthash.model_file").attr("ModelFileError");
        PyErr_SetString(type.ptr(), error.what());
    } catch (const std::system_error& error) {
        const nb::object arguments = nb::make_tuple(error.code().value(), error.code().message());
        PyErr_SetObject(PyExc_OSError, arguments.ptr());
    }
}

}  // namespace

void bind_hamming(nb::module_& module) {
    nb::register_exception_translator(translate);
    nb::enum_<Strategy>(module, "Strategy")
        .value("auto", Strategy::automatic)
        .value("scan", Strategy::scan)
        .value("tables", Strategy::tables);
    nb::class_<Index>(module, "HammingCore")
        .def(
            "__init__",
            [](Index* self, Whole<int> n_bits, Strategy strategy) {
                check(n_bits >= 1 && n_bits <= 1024, "n_bits must be from 1 to 1024. Use codes of another length.");
                new (self) Index(n_bits, strategy);
            },
            nb::arg("n_bits"), nb::arg("strategy"))
        .def_static(
            "open",
            [](int descriptor, bool map, const std::string& name, Strategy strategy) {
                auto file = std::make_shared<const MappedFile>(descriptor, map, name);
                return std::make_shared<Index>(open_snapshot(std::move(file)), strategy);
            },
            nb::arg("descriptor"), nb::kw_only(), nb::arg("mapped"), nb::arg("name"), nb::arg("strategy"))
        .def("verify", [](Index& self) { call(false, [&](StopFlag&) { self.snapshot(); }); })
        .def(
            "save", [](Index& self, int fd) { interruptible([&](StopFlag&) { self.save(fd); }); },
            nb::arg("descriptor"))
        .def("n_bits", [](Index& self) { return self.n_bits(); })
        .def("size", [](Index& self) { return self.glance()->size(); })
        .def("add", &add, nb::arg("codes"), nb::arg("ids").none())
        .def(
            "remove",
            [](Index& self, Vector<int64_t> ids) { call(false, [&](StopFlag&) { self.remove(view_of(ids)); }); },
            nb::arg("ids"))
        .def(
            "update",
            [](Index& self, Matrix<uint8_t> codes, Vector<int64_t> ids) {
                const std::vector<uint64_t> words = to_words(codes, self);
                check_ids(ids, codes.shape(0));
                call(false, [&](StopFlag&) { self.update(words.data(), view_of(ids)); });
            },
            nb::arg("codes"), nb::arg("ids"))
        .def(
            "contains",
            [](Index& self, int64_t id) {
                const nb::gil_scoped_release released;
                return self.locate({&id, 1}).second[0] >= 0;
            },
            nb::arg("id"))
        .def("codes", &codes_of, nb::arg("ids"))
        .def("ids", &all_ids)
        .def("search", &search, nb::arg("codes"), nb::kw_only(), nb::arg("k"), nb::arg("radius").none(),
             nb::arg("allowed").none(), nb::arg("threads"))
        .def("weighted_search", &weighted_search, nb::arg("codes"), nb::arg("weights"), nb::kw_only(), nb::arg("k"),
             nb::arg("radius").none(), nb::arg("allowed").none(), nb::arg("threads"))
        .def("radius_search", &radius_search, nb::arg("codes"), nb::kw_only(), nb::arg("radius"),
             nb::arg("allowed").none(), nb::arg("threads"))
        .def("count", &count, nb::arg("codes"), nb::kw_only(), nb::arg("radius"), nb::arg("allowed").none(),
             nb::arg("threads"))
        .def(
            "build_tables",
            [](Index& self, Threads threads) { interruptible([&](StopFlag& stop) { self.build(threads, stop); }); },
            nb::kw_only(), nb::arg("threads"))
        .def("stats", &stats);
    nb::class_<Join>(module, "HammingJoin")
        .def(
            "__init__",
            [](Join* self, Index& left, Index& right, Whole<int> radius, Threads threads) {
                check(left.n_bits() == right.n_bits(), "Both sides must have codes of one length. Use the same model.");
                new (self) Join(left, right, bits_of(radius, left), threads);
            },
            nb::arg("left"), nb::arg("right"), nb::kw_only(), nb::arg("radius"), nb::arg("threads"),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("next", &next_pairs);
}

}  // namespace sthash
