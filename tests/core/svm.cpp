// Banks of support vector machines.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check.hpp"
#include "svm/bank.hpp"

using namespace sthash;
using namespace sthash::svm;
using namespace sthash::test;

namespace {

// Rows, and the bits that random hyperplanes give them; one row in ten has a wrong bit.
struct Lesson {
    Rows rows;
    std::vector<uint8_t> bits;
    std::vector<float> inverse_curvature;
    size_t n_bits;
};

Lesson random_lesson(size_t n, size_t n_bits, float extra) {
    Lesson lesson{random_rows(n, 40, 8, true), std::vector<uint8_t>(n * n_bits), {}, n_bits};
    std::vector<float> planes(40 * n_bits);
    for (float& side : planes) side = static_cast<float>(draw(17)) - 8;
    for (size_t i = 0; i < n; ++i) {
        const SparseRow row = lesson.rows.view().row(i);
        float squares = 0;
        for (ptrdiff_t at = 0; at < row.size; ++at) squares += row.values[at] * row.values[at];
        lesson.inverse_curvature.push_back(1 / (squares + 1 + extra));
        for (size_t bit = 0; bit < n_bits; ++bit) {
            float sum = 0;
            for (ptrdiff_t at = 0; at < row.size; ++at)
                sum += planes[static_cast<size_t>(row.indices[at]) * n_bits + bit] * row.values[at];
            lesson.bits[i * n_bits + bit] = (sum > 0) != (draw(10) == 0);
        }
    }
    return lesson;
}

// The same diagonal and bound for each row, or twice and half as much for every third one.
struct Penalties {
    std::vector<float> diagonal, upper;
    Penalties(size_t n, float d, float u, bool varied) : diagonal(n, d), upper(n, u) {
        for (size_t i = 0; varied && i < n; i += 3) {
            diagonal[i] *= 2;
            upper[i] /= 2;
        }
    }
    Terms terms(const Lesson& lesson, float bias) const {
        return {lesson.inverse_curvature.data(), diagonal.data(), upper.data(), bias};
    }
};

// One machine at a time, one number at a time.
void learn_plainly(const Lesson& lesson, size_t bit, const std::vector<int32_t>& order, const Terms& terms,
                   std::vector<float>& weights, std::vector<float>& alphas, float& intercept) {
    for (const int32_t i : order) {
        const SparseRow row = lesson.rows.view().row(static_cast<size_t>(i));
        float sum = 0;
        for (ptrdiff_t at = 0; at < row.size; ++at)
            sum += weights[static_cast<size_t>(row.indices[at])] * row.values[at];
        const float label = lesson.bits[static_cast<size_t>(i) * lesson.n_bits + bit] != 0 ? 1.0f : -1.0f;
        float& alpha = alphas[static_cast<size_t>(i)];
        const float margin = sum + intercept * terms.bias;
        const float gradient = label * margin - 1.0f + alpha * terms.diagonal[i];
        const float step = gradient * terms.inverse_curvature[i];
        const float next = std::min(std::max(alpha - step, 0.0f), terms.upper[i]);
        const float change = (next - alpha) * label;
        alpha = next;
        intercept += change * terms.bias;
        for (ptrdiff_t at = 0; at < row.size; ++at)
            weights[static_cast<size_t>(row.indices[at])] += change * row.values[at];
    }
}

void check_descent(int groups, float diagonal, float upper, float bias, bool varied) {
    const size_t n = 40, width = static_cast<size_t>(groups) * kLanesInGroup;
    const Lesson lesson = random_lesson(n, width, diagonal);
    const Penalties penalties(n, diagonal, upper, varied);
    const Terms terms = penalties.terms(lesson, bias);
    struct alignas(64) Line {
        float lanes[16];
    };
    struct alignas(64) Mask {
        int32_t lanes[16];
    };
    const auto lanes = [&](size_t rows) { return std::vector<Line>(rows * static_cast<size_t>(groups)); };
    std::vector<Line> weights = lanes(40), alphas = lanes(n), labels = lanes(n), intercepts = lanes(1), most = lanes(1),
                      least = lanes(1);
    std::vector<Mask> active(static_cast<size_t>(groups));
    for (size_t at = 0; at < n * width; ++at) labels[at / 16].lanes[at % 16] = lesson.bits[at] != 0 ? 1.0f : -1.0f;
    std::vector<int32_t> order;
    for (Mask& mask : active) std::fill_n(mask.lanes, 16, -1);
    for (size_t round = 0; round < 3; ++round)
        for (size_t i = 0; i < n; ++i) order.push_back(static_cast<int32_t>((i * 7 + round) % n));
    const auto data = [](std::vector<Line>& lines) { return lines[0].lanes; };
    Block block{groups,           data(weights), data(alphas), data(labels),
                data(intercepts), data(most),    data(least),  active[0].lanes};
    descend_rows(lesson.rows.view(), terms, order.data(), static_cast<ptrdiff_t>(order.size()), block);
    for (size_t bit = 0; bit < width; ++bit) {
        std::vector<float> plain(40), dual(n);
        float intercept = 0;
        learn_plainly(lesson, bit, order, terms, plain, dual, intercept);
        check(intercept == intercepts[bit / 16].lanes[bit % 16], "intercept of a machine");
        for (size_t column = 0; column < plain.size(); ++column)
            check(plain[column] == weights[(column * width + bit) / 16].lanes[bit % 16], "weights of a machine");
        for (size_t i = 0; i < n; ++i)
            check(dual[i] == alphas[(i * width + bit) / 16].lanes[bit % 16], "dual values of a machine");
    }
}

// A machine learns the same alone and among others, on any number of threads; and it learns its bit.
void check_bank(size_t n_bits, int threads) {
    const Lesson lesson = random_lesson(120, n_bits, 0.5f);
    const Penalties penalties(120, 0.5f, std::numeric_limits<float>::infinity(), false);
    StopFlag stop{false};
    Progress progress;
    const auto solve = [&](const uint8_t* bits, size_t count) {
        return solve_bank({lesson.rows.view(), 40, count, bits, penalties.terms(lesson, 1), 0.1, 500, 7}, threads, stop,
                          progress);
    };
    const Solution bank = solve(lesson.bits.data(), n_bits);
    check(progress.done == n_bits && progress.total == n_bits, "progress of the bank");
    const size_t bit = draw(n_bits), n = lesson.rows.indptr.size() - 1;
    std::vector<uint8_t> own(n);
    for (size_t i = 0; i < n; ++i) own[i] = lesson.bits[i * n_bits + bit];
    const Solution alone = solve(own.data(), 1);
    check(alone.intercepts[0] == bank.intercepts[bit] && alone.rounds[0] == bank.rounds[bit], "machine of a bank");
    for (size_t column = 0; column < 40; ++column)
        check(alone.weights[column] == bank.weights[column * n_bits + bit], "weights of a bank");
    size_t right = 0;
    for (size_t i = 0; i < n; ++i) {
        const SparseRow row = lesson.rows.view().row(i);
        float margin = alone.intercepts[0];
        for (ptrdiff_t at = 0; at < row.size; ++at)
            margin += alone.weights[static_cast<size_t>(row.indices[at])] * row.values[at];
        right += (margin > 0) == (own[i] != 0);
    }
    check(10 * right > 8 * n, "bits that a bank predicts");
}

}  // namespace

void test_svm() {
    for (const int groups : {1, 2, 4}) {
        for (const bool varied : {false, true}) {
            check_descent(groups, 0.5f, std::numeric_limits<float>::infinity(), 1, varied);
            check_descent(groups, 0, 0.25f, 0, varied);
        }
    }
    for (const size_t n_bits : {size_t{1}, size_t{16}, size_t{17}, size_t{70}}) check_bank(n_bits, n_bits > 16 ? 3 : 1);
}
