// Python's view of the quantizer.
#include "arguments.hpp"
#include "bindings.hpp"
#include "quantizer/kernels.hpp"
#include "quantizer/scan.hpp"

namespace sthash {

namespace {

void make_codewords(quantizer::Codewords* made, Matrix<float> words, Matrix<float> signs, float longest,
                    float least_gain) {
    const size_t books = words.shape(0) / quantizer::kWords, bits = signs.shape(0), columns = words.shape(1);
    check(words.shape(0) % quantizer::kWords == 0 && books <= quantizer::kMostBooks,
          "Books have 256 codewords each, and there are at most 64 of them. Pass whole books.");
    check(bits % 8 == 0 && bits <= 1 << 12, "Signs come in bytes, and there are at most 4,096. Pass whole bytes.");
    check(signs.shape(1) == columns && columns >= 1,
          "Codewords and sign vectors must have the same columns. Pass vectors of one width.");
    check(columns <= graph::kMostWidth, "Vectors have at most 32,768 values. Use fewer dimensions.");
    check(longest > 0 && least_gain >= 0 && least_gain <= 1, "A length must be above 0, and a gain from 0 to 1.");
    nb::gil_scoped_release released;
    new (made) quantizer::Codewords(words.data(), books, signs.data(), bits, columns, longest, least_gain);
}

nb::tuple choose(const quantizer::Codewords& words, Matrix<float> rows, Whole<int> beam, Threads threads) {
    const size_t count = rows.shape(0);
    check(rows.shape(1) == words.columns(), "Rows and codewords must have the same columns. Pass rows of that width.");
    std::vector<uint8_t> codes(count * words.bytes());
    std::vector<float> squares(count);
    interruptible_unless(count <= 16, [&](StopFlag& stop) {
        words.choose(rows.data(), count, static_cast<size_t>(std::clamp<int>(beam, 1, 256)),
                     {codes.data(), squares.data()}, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(codes), {count, words.bytes()}), to_numpy(std::move(squares)));
}

nb::ndarray<nb::numpy, float> multiply(Matrix<float> rows, Matrix<float> weights, Threads threads) {
    const size_t count = rows.shape(0), depth = rows.shape(1), width = weights.shape(1);
    check(weights.shape(0) == depth, "Rows and weights must have the same inner dimension. Transpose one of them.");
    std::vector<float> products(count * width);
    interruptible_unless(count <= 16, [&](StopFlag& stop) {
        parallel_for(count, 64, threads, stop, [&](size_t first, size_t last, int) {
            quantizer::multiply_rows(rows.data() + first * depth, last - first, depth, weights.data(), width,
                                     products.data() + first * width);
        });
    });
    return to_numpy(std::move(products), {count, width});
}

nb::tuple scan(Matrix<uint8_t> codes, Matrix<float> corrections, Matrix<float> tables, Vector<float> offsets,
               Whole<ptrdiff_t> k, Threads threads) {
    const size_t count = codes.shape(0), bytes = codes.shape(1), asked = offsets.shape(0);
    check(bytes >= 1 && corrections.shape(0) == quantizer::kWords && corrections.shape(1) == 2,
          "A code ends with a byte that chooses one of 256 corrections. Pass the codes and corrections of one model.");
    check(tables.shape(0) == asked && tables.shape(1) == (bytes - 1) * quantizer::kWords,
          "Each query needs 256 values for each byte but the last. Make the tables with the model of the codes.");
    check_answers(asked, static_cast<size_t>(std::max<ptrdiff_t>(k, 0)));
    const size_t kept = std::min(static_cast<size_t>(k), count);
    std::vector<int64_t> ids(asked * kept);
    std::vector<float> scores(asked * kept);
    interruptible_unless(asked * count <= 1 << 16, [&](StopFlag& stop) {
        quantizer::scan({count, bytes, codes.data(), corrections.data()}, {asked, tables.data(), offsets.data()}, kept,
                        ids.data(), scores.data(), threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(ids), {asked, kept}), to_numpy(std::move(scores), {asked, kept}));
}

}  // namespace

void bind_quantizer(nb::module_& module) {
    module.def("multiply", &multiply, nb::arg("rows"), nb::arg("weights"), nb::kw_only(), nb::arg("threads"));
    nb::class_<quantizer::Codewords>(module, "Codewords")
        .def("__init__", &make_codewords, nb::arg("words"), nb::arg("signs"), nb::kw_only(), nb::arg("longest"),
             nb::arg("least_gain"))
        .def("choose", &choose, nb::arg("rows"), nb::kw_only(), nb::arg("beam"), nb::arg("threads"));
    module.def("scan_additive", &scan, nb::arg("codes"), nb::kw_only(), nb::arg("corrections"), nb::arg("tables"),
               nb::arg("offsets"), nb::arg("k"), nb::arg("threads"));
}

}  // namespace sthash
