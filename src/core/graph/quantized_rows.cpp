#include "graph/quantized_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "parallel.hpp"

namespace sthash {

namespace {

constexpr float unit = 32500.0f;
constexpr size_t most_slots = 65535;

}  // namespace

int16_t quantized(float weight) {
    return static_cast<int16_t>(std::lrintf(weight * unit));
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

QuantizedRows quantized_rows(const float* rows, size_t width, const std::vector<int32_t>& order, int threads) {
    QuantizedRows result;
    result.n_rows = order.size();
    result.n_columns = result.width = width;
    result.weights.resize(order.size() * width);
    StopFlag never{false};
    parallel_for(order.size(), 256, threads, never, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i)
            std::transform(rows + order[i] * width, rows + (order[i] + 1) * width, result.weights.begin() + i * width,
                           quantized);
    });
    return result;
}

void QueryBlock::load(const QuantizedRows& rows, size_t first, size_t count) {
    first_ = first;
    count_ = count;
    dense_ = rows.width > 0;
    if (dense_) {
        weights_.assign((rows.width + 1) * block_size, 0);
        for (size_t q = 0; q < count; ++q)
            for (size_t c = 0; c < rows.width; ++c)
                weights_[(c + 1) * block_size + q] = rows.weights[(first + q) * rows.width + c];
        return;
    }
    for (const int32_t column : used_) slots_[column] = 0;
    used_.clear();
    slots_.resize(std::max(slots_.size(), rows.n_columns), 0);
    weights_.assign(block_size, 0);
    for (size_t q = 0; q < count; ++q)
        for (int64_t at = rows.indptr[first + q]; at < rows.indptr[first + q + 1]; ++at) {
            uint16_t& slot = slots_[rows.columns[at]];
            if (slot == 0) {
                if (used_.size() == most_slots) continue;  // only the rarest terms of very long rows
                used_.push_back(rows.columns[at]);
                slot = static_cast<uint16_t>(used_.size());
                weights_.resize(weights_.size() + block_size, 0);
            }
            weights_[slot * block_size + q] = rows.weights[at];
        }
}

void QueryBlock::search(const QuantizedRows& others, bool same, const std::vector<int32_t>& proposed, size_t k,
                        int16_t* thresholds) {
    constexpr size_t batch = 64;
    reached_.resize(batch);
    above_.resize(batch);
    scores_.resize(batch * block_size);
    for (auto& found : found_) found.clear();
    for (size_t q = count_; q < block_size; ++q) thresholds[q] = 32767;
    const BlockView block{weights_.data(), dense_ ? nullptr : slots_.data()};
    const QuantizedView view = others.view();
    for (size_t next = 0; next < proposed.size();) {
        const size_t hits = rows_above(block, view, proposed.data(), proposed.size(), thresholds, batch,
                                       reached_.data(), above_.data(), scores_.data(), &next);
        for (size_t hit = 0; hit < hits; ++hit) {
            const int32_t row = proposed[reached_[hit]];
            const int16_t* scores = scores_.data() + hit * block_size;
            uint32_t lanes = above_[hit];
            const size_t self = same ? static_cast<size_t>(row) - first_ : block_size;
            if (self < block_size) lanes &= ~(uint32_t{1} << self);
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

}  // namespace sthash
