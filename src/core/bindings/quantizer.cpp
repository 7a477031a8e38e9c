// Python's view of the quantizer.
#include "arguments.hpp"
#include "bindings.hpp"
#include "quantizer/encode.hpp"
#include "quantizer/kernels.hpp"
#include "quantizer/scan.hpp"

namespace sthash {

namespace {

nb::tuple encode(Matrix<float> book_products, Matrix<float> bit_products, Matrix<float> book_gram,
                 Matrix<float> cross_gram, Matrix<float> bit_gram, Whole<int> beam, Threads threads) {
    const size_t rows = book_products.shape(0), words = book_products.shape(1), bits = bit_products.shape(1);
    check(bit_products.shape(0) == rows, "Each row needs both kinds of products. Pass as many of one as of the other.");
    check(words % quantizer::kWords == 0 && words / quantizer::kWords <= quantizer::kMostBooks && bits % 8 == 0 &&
              bits <= 1 << 14,
          "Books have 256 codewords, signs come in bytes. Pass products with such a number of columns.");
    check(book_gram.shape(0) == words && book_gram.shape(1) == words && cross_gram.shape(0) == words &&
              cross_gram.shape(1) == bits && bit_gram.shape(0) == bits && bit_gram.shape(1) == bits,
          "The products of the codewords do not fit those of the rows. Make them from the same codewords.");
    const quantizer::Codewords codewords{static_cast<int>(words / quantizer::kWords),
                                         static_cast<int>(bits),
                                         std::clamp<int>(beam, 1, 256),
                                         book_gram.data(),
                                         cross_gram.data(),
                                         bit_gram.data()};
    const size_t bytes = words / quantizer::kWords + bits / 8;
    std::vector<uint8_t> codes(rows * bytes);
    std::vector<float> dots(rows), squares(rows);
    interruptible_unless(rows <= 16, [&](StopFlag& stop) {
        quantizer::encode(codewords, {rows, book_products.data(), bit_products.data()},
                          {codes.data(), dots.data(), squares.data()}, threads, stop);
    });
    return nb::make_tuple(to_numpy(std::move(codes), {rows, bytes}), to_numpy(std::move(dots)),
                          to_numpy(std::move(squares)));
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
               Whole<long> k, Threads threads) {
    const size_t count = codes.shape(0), bytes = codes.shape(1), asked = offsets.shape(0);
    check(bytes >= 1 && corrections.shape(0) == quantizer::kWords && corrections.shape(1) == 2,
          "A code ends with a byte that chooses one of 256 corrections. Pass the codes and corrections of one model.");
    check(tables.shape(0) == asked && tables.shape(1) == (bytes - 1) * quantizer::kWords,
          "Each query needs 256 values for each byte but the last. Make the tables with the model of the codes.");
    check_answers(asked, static_cast<size_t>(std::max<long>(k, 0)));
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
    module.def("encode_additive", &encode, nb::arg("book_products"), nb::arg("bit_products"), nb::kw_only(),
               nb::arg("book_gram"), nb::arg("cross_gram"), nb::arg("bit_gram"), nb::arg("beam"), nb::arg("threads"));
    module.def("scan_additive", &scan, nb::arg("codes"), nb::kw_only(), nb::arg("corrections"), nb::arg("tables"),
               nb::arg("offsets"), nb::arg("k"), nb::arg("threads"));
}

}  // namespace sthash
