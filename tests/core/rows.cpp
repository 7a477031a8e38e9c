// What all packages share: inner products of rows, and rows that are equal.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>

#include "check.hpp"
#include "dot.hpp"
#include "equal_rows.hpp"

using namespace sthash;
using namespace sthash::test;

namespace {

constexpr size_t kColumns = 150;

std::vector<float> random_floats(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(draw(2001)) / 999 - 1;
    return values;
}

// The half nearest to zero of a float that a half can hold, but for its last bits.
uint16_t half_of(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude < 0x38800000) return static_cast<uint16_t>(bits >> 16 & 0x8000);  // too small for a normal one
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | (magnitude - 0x38000000) >> 13);
}

float float_of(uint16_t half) {
    const uint32_t magnitude = half & 0x7FFF;
    return std::bit_cast<float>(static_cast<uint32_t>(half & 0x8000) << 16 |
                                (magnitude == 0 ? 0 : (magnitude << 13) + 0x38000000));
}

// Sums of sixteen lanes, folded in halves.
float folded(const float* lanes) {
    float sums[16];
    std::copy_n(lanes, 16, sums);
    for (int width = 8; width > 0; width /= 2)
        for (int lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
    return sums[0];
}

// The order of the additions that dot promises on every path.
float plain_dot(const std::vector<float>& left, const std::vector<float>& right) {
    float lanes[32] = {};
    const size_t whole = left.size() / 32 * 32;
    for (size_t i = 0; i < whole; ++i) lanes[i % 32] += left[i] * right[i];
    for (int lane = 0; lane < 16; ++lane) lanes[lane] += lanes[lane + 16];
    float sum = folded(lanes);
    for (size_t i = whole; i < left.size(); ++i) sum += left[i] * right[i];
    return sum;
}

void check_dense(size_t count) {
    const std::vector<float> left = random_floats(count);
    std::vector<float> right = random_floats(count);
    check(dot(left.data(), right.data(), count) == plain_dot(left, right), "product of two rows");
    std::vector<uint16_t> halves;
    std::vector<int8_t> bytes;
    for (float& value : right) {
        halves.push_back(half_of(value));
        value = float_of(halves.back());
    }
    check(dot(left.data(), halves.data(), count) == plain_dot(left, right), "product with halves");
    for (float& value : right) {
        bytes.push_back(static_cast<int8_t>(static_cast<int>(draw(256)) - 128));
        value = bytes.back();
    }
    check(dot(left.data(), bytes.data(), count) == plain_dot(left, right), "product with bytes");
}

void check_exact(size_t count, size_t n_rows) {
    const std::vector<float> left = random_floats(count), all = random_floats(count * n_rows);
    std::vector<const float*> rows;
    for (size_t i = 0; i < n_rows; ++i) rows.push_back(all.data() + i * count);
    std::vector<double> products(n_rows);
    exact_dots(left.data(), rows.data(), n_rows, count, products.data());
    for (size_t i = 0; i < n_rows; ++i) {
        double sum = 0;
        for (size_t at = 0; at < count; ++at) sum += static_cast<double>(left[at]) * rows[i][at];
        check(products[i] == sum && exact_dot(left.data(), rows[i], count) == sum, "exact products");
    }
}

void check_sparse() {
    Rows rows = random_rows(40, kColumns, 60, true);
    rows.values = random_floats(rows.values.size());
    Spread spread;
    spread.resize(kColumns);
    for (size_t i = 0; i < 40; ++i) {
        const SparseRow row = rows.view().row(i), other = rows.view().row(draw(40));
        std::vector<float> full(kColumns);
        for (ptrdiff_t at = 0; at < other.size; ++at) full[static_cast<size_t>(other.indices[at])] = other.values[at];
        spread.set(other);
        check(std::equal(full.begin(), full.end(), spread.data()), "a row spread over all columns");
        float lanes[16] = {}, in_order = 0;
        double exact = 0;
        for (ptrdiff_t at = 0; at < row.size; ++at) {
            const float value = full[static_cast<size_t>(row.indices[at])];
            lanes[at % 16] += value * row.values[at];
            in_order += value * row.values[at];
            exact += static_cast<double>(value) * row.values[at];
        }
        check(dot(row, spread.data()) == folded(lanes), "product of a sparse row and a spread one");
        check(dot(row, other) == in_order, "product of two sparse rows");
        check(exact_dot(row, spread.data()) == exact, "exact product of sparse rows");
        spread.clear(other);
    }
    check(std::count(spread.data(), spread.data() + kColumns, 0.0f) == kColumns, "a row that is cleared");
}

// Rows of few different entries, so that many are equal.
void check_equal_rows(int threads) {
    Rows rows;
    std::map<std::pair<std::vector<int32_t>, std::vector<uint32_t>>, int64_t> both;
    std::map<std::vector<uint32_t>, int64_t> values_only;
    std::map<std::vector<int32_t>, int64_t> columns_only;
    std::vector<int64_t> of_both, of_values, of_columns;
    for (int64_t i = 0; i < 500; ++i) {
        std::vector<int32_t> columns;
        std::vector<uint32_t> bits;
        for (size_t left = draw(4); left > 0; --left) {
            columns.push_back(static_cast<int32_t>(draw(2)));
            const float values[] = {0.0f, -0.0f, 1.0f};
            rows.values.push_back(values[draw(3)]);
            bits.push_back(std::bit_cast<uint32_t>(rows.values.back()));
        }
        rows.indices.insert(rows.indices.end(), columns.begin(), columns.end());
        rows.indptr.push_back(static_cast<int64_t>(rows.values.size()));
        of_both.push_back(both.try_emplace({columns, bits}, i).first->second);
        of_values.push_back(values_only.try_emplace(bits, i).first->second);
        of_columns.push_back(columns_only.try_emplace(columns, i).first->second);
    }
    StopFlag stop{false};
    RowsView view = rows.view();
    check(first_equal_rows(view, threads, stop) == of_both, "equal rows");
    view.dense = true;
    check(first_equal_rows(view, threads, stop) == of_values, "equal dense rows");
    const std::vector<uint64_t> items(rows.indices.begin(), rows.indices.end());
    check(first_equal_sets(rows.indptr.data(), 500, items.data(), threads, stop) == of_columns, "equal sets");
}

}  // namespace

void test_rows() {
    for (size_t count = 0; count < 100; ++count) check_dense(count);
    for (size_t n_rows = 0; n_rows < 20; ++n_rows) check_exact(37, n_rows);
    check_sparse();
    for (const int threads : {1, 3}) check_equal_rows(threads);
}
