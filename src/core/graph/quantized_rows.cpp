#include "graph/quantized_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "parallel.hpp"

namespace sthash::graph {

namespace {

constexpr float kUnit = 32500.0f;
constexpr size_t kMostSlots = 65535;

}  // namespace

int16_t quantized(float weight) {
    return static_cast<int16_t>(std::lrintf(weight * kUnit));
}

QuantizedRows quantized_rows(const RankedRows& rows, const std::vector<int32_t>& order) {
    QuantizedRows result;
    result.n_rows = order.size();
    result.indptr.reserve(order.size() + 1);
    result.indptr.push_back(0);
    // Terms go by frequency, so those that only one row has come last.
    result.n_columns = static_cast<size_t>(
        std::lower_bound(rows.frequency.begin(), rows.frequency.end(), 1, std::greater<>()) - rows.frequency.begin());
    for (const int32_t row : order) {
        for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) {
            if (static_cast<size_t>(rows.terms[at]) >= result.n_columns) break;
            result.columns.push_back(rows.terms[at]);
            result.weights.push_back(quantized(rows.weights[at]));
            result.exact.push_back(rows.weights[at]);
        }
        result.indptr.push_back(static_cast<int64_t>(result.columns.size()));
    }
    return result;
}

QuantizedRows dense_rows(size_t n_rows, size_t n_columns) {
    QuantizedRows result;
    result.n_rows = n_rows;
    result.n_columns = n_columns;
    result.width = (n_columns + 3) / 4 * 4;
    result.bytes.resize(n_rows * result.width, 0);
    result.factors.resize(n_rows, 0.0f);
    result.offsets.resize(n_rows, 0);
    return result;
}

void set_row(QuantizedRows& rows, size_t row, const float* values) {
    // Several at a time, which compilers make vectors of.
    float several[16] = {};
    size_t at = 0;
    for (; at + 16 <= rows.n_columns; at += 16)
        for (size_t i = 0; i < 16; ++i) several[i] = std::max(several[i], std::abs(values[at + i]));
    float largest = 0;
    for (; at < rows.n_columns; ++at) largest = std::max(largest, std::abs(values[at]));
    for (const float one : several) largest = std::max(largest, one);
    // Smaller values would have a factor without end.
    const float scale = largest >= std::numeric_limits<float>::min() ? 127 / largest : 0.0f;
    int8_t* const bytes = rows.bytes.data() + row * rows.width;
    int32_t sum = 0;
    for (size_t c = 0; c < rows.n_columns; ++c) {
        const float value = values[c] * scale;
        bytes[c] = static_cast<int8_t>(static_cast<int32_t>(value + std::copysign(0.5f, value)));
        sum += bytes[c];
    }
    rows.offsets[row] = 255 * sum;
    rows.factors[row] = largest * (128.0f / 127);
}

void set_query(const QuantizedRows& rows, size_t row, size_t query, uint8_t* block) {
    const int8_t* const bytes = rows.bytes.data() + row * rows.width;
    for (size_t c = 0; c < rows.width; ++c)
        block[(c / 4 * kBlockSize + query) * 4 + c % 4] = static_cast<uint8_t>((bytes[c] + 128) / 2);
}

QuantizedRows quantized_rows(const RowsView& rows, const std::vector<int32_t>& order, int threads) {
    QuantizedRows result = dense_rows(order.size(), rows.n_columns);
    StopFlag never{false};
    parallel_for(order.size(), 256, threads, never, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) set_row(result, i, rows.row(order[i]).values);
    });
    return result;
}

void copy_dense_row(const QuantizedRows& rows, size_t from, QuantizedRows& result, size_t to) {
    std::copy_n(rows.bytes.begin() + from * rows.width, rows.width, result.bytes.begin() + to * rows.width);
    result.factors[to] = rows.factors[from];
    result.offsets[to] = rows.offsets[from];
}

void add_sparse_row(const QuantizedRows& rows, size_t row, QuantizedRows& result) {
    const int64_t begin = rows.indptr[row], end = rows.indptr[row + 1];
    result.weights.insert(result.weights.end(), rows.weights.begin() + begin, rows.weights.begin() + end);
    result.columns.insert(result.columns.end(), rows.columns.begin() + begin, rows.columns.begin() + end);
    result.indptr.push_back(static_cast<int64_t>(result.columns.size()));
    ++result.n_rows;
}

QuantizedRows some_rows(const QuantizedRows& rows, const std::vector<int32_t>& which) {
    if (rows.dense()) {
        QuantizedRows result = dense_rows(which.size(), rows.n_columns);
        for (size_t i = 0; i < which.size(); ++i) copy_dense_row(rows, which[i], result, i);
        return result;
    }
    QuantizedRows result;
    result.n_columns = rows.n_columns;
    result.indptr.push_back(0);
    for (const int32_t row : which) add_sparse_row(rows, row, result);
    return result;
}

void QueryBlock::load(const QuantizedRows& rows, size_t first, size_t count) {
    first_ = first;
    count_ = count;
    dense_ = rows.dense();
    if (dense_) {
        bytes_.assign(rows.width * kBlockSize, 64);
        std::fill_n(factors_, kBlockSize, 0.0f);
        for (size_t q = 0; q < count; ++q) {
            set_query(rows, first + q, q, bytes_.data());
            // Four times half of a byte is twice the byte.
            factors_[q] = rows.factors[first + q] / 2;
        }
        return;
    }
    for (const int32_t column : used_) slots_[column] = 0;
    used_.clear();
    slots_.resize(std::max(slots_.size(), rows.n_columns), 0);
    weights_.assign(kBlockSize, 0);
    for (size_t q = 0; q < count; ++q)
        for (int64_t at = rows.indptr[first + q]; at < rows.indptr[first + q + 1]; ++at) {
            uint16_t& slot = slots_[rows.columns[at]];
            if (slot == 0) {
                if (used_.size() == kMostSlots) continue;  // only the rarest terms of very long rows
                used_.push_back(rows.columns[at]);
                slot = static_cast<uint16_t>(used_.size());
                weights_.resize(weights_.size() + kBlockSize, 0);
            }
            weights_[slot * kBlockSize + q] = rows.weights[at];
        }
}

void QueryBlock::search(const QuantizedRows& others, bool same, const std::vector<int32_t>& proposed, size_t k,
                        int16_t* thresholds) {
    constexpr size_t kBatch = 64;
    reached_.resize(kBatch);
    above_.resize(kBatch);
    scores_.resize(kBatch * kBlockSize);
    for (auto& found : found_) found.clear();
    for (size_t q = count_; q < kBlockSize; ++q) thresholds[q] = 32767;
    const BlockView block{weights_.data(), slots_.data(), bytes_.data(), factors_};
    const QuantizedView view = others.view();
    for (size_t next = 0; next < proposed.size();) {
        const size_t hits = rows_above(block, view, proposed.data(), proposed.size(), thresholds, kBatch,
                                       reached_.data(), above_.data(), scores_.data(), &next);
        for (size_t hit = 0; hit < hits; ++hit) {
            const int32_t row = proposed[reached_[hit]];
            const int16_t* scores = scores_.data() + hit * kBlockSize;
            uint32_t lanes = above_[hit];
            const size_t self = same ? static_cast<size_t>(row) - first_ : kBlockSize;
            if (self < kBlockSize) lanes &= ~(uint32_t{1} << self);
            for (; lanes != 0; lanes &= lanes - 1) {
                const int q = std::countr_zero(lanes);
                if (scores[q] <= thresholds[q]) continue;  // raised since
                std::vector<uint64_t>& found = found_[q];
                found.push_back(key_of(scores[q], row));
                if (found.size() < 3 * k) continue;
                std::nth_element(found.begin(), found.begin() + (k - 1), found.end(), std::greater<>());
                found.resize(k);
                thresholds[q] = std::max<int16_t>(thresholds[q], score_of(found[k - 1]) - 1);
            }
        }
    }
}

std::vector<uint64_t>& QueryBlock::best(size_t q, size_t k) {
    std::vector<uint64_t>& found = found_[q];
    if (found.size() > k) {
        std::nth_element(found.begin(), found.begin() + (k - 1), found.end(), std::greater<>());
        found.resize(k);
    }
    std::sort(found.begin(), found.end(), std::greater<>());
    return found;
}

}  // namespace sthash::graph
