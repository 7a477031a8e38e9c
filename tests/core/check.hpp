// What the C++ tests of the kernels share. Each test compares kernels with plain loops, and ends the program at the
// first difference. main.cpp runs the tests on every SIMD path of the machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "rows.hpp"
#include "simd.hpp"

void test_rows();
void test_text();
void test_graph();
void test_svm();
void test_projection();
void test_counts();
void test_postings();
void test_ranking();
void test_hamming();
void test_approximate();
void test_embeddings();
void test_join();
void test_corpus();

namespace sthash::test {

inline std::mt19937_64 generator(2010);

// A number below a bound. Not std::uniform_int_distribution, whose numbers depend on the standard library.
inline size_t draw(size_t below) {
    return static_cast<size_t>(generator() % below);
}

[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "%s: wrong on path %s\n", what.c_str(), name_of(active_path()));
    std::exit(1);
}

inline void check(bool right, const std::string& what) {
    if (!right) fail(what);
}

// Sparse rows that own their arrays. Values are eighths, so that sums of few products are exact in any order.
struct Rows {
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> indices;
    std::vector<float> values;

    RowsView view() const {
        const size_t n_columns = indices.empty() ? 0 : *std::max_element(indices.begin(), indices.end()) + size_t{1};
        return csr_rows(indptr.data(), indices.data(), values.data(), indptr.size() - 1, n_columns);
    }
};

inline Rows random_rows(size_t count, size_t columns, size_t most, bool negative) {
    Rows rows;
    for (size_t i = 0; i < count; ++i) {
        size_t column = draw(4);
        for (size_t size = draw(most + 1); size > 0 && column < columns; --size, column += 1 + draw(columns / most)) {
            rows.indices.push_back(static_cast<int32_t>(column));
            const float value = static_cast<float>(1 + draw(16)) / 8;
            rows.values.push_back(negative && draw(2) == 0 ? -value : value);
        }
        rows.indptr.push_back(static_cast<int64_t>(rows.indices.size()));
    }
    return rows;
}

// Codes near each other, so that there are ties; a vector of exactly the right size, so that overruns are seen.
inline std::vector<uint64_t> random_codes(size_t count, int n_bits) {
    const size_t words = (static_cast<size_t>(n_bits) + 63) / 64;
    std::vector<uint64_t> codes(count * words);
    const uint64_t last = ~uint64_t{0} >> (words * 64 - static_cast<size_t>(n_bits));
    for (size_t at = 0; at < codes.size(); ++at) {
        codes[at] = generator() & generator() & generator();  // one bit in eight
        if ((at + 1) % words == 0) codes[at] &= last;
    }
    return codes;
}

}  // namespace sthash::test
