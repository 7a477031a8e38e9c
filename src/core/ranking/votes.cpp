#include "ranking/votes.hpp"

#include <algorithm>

#include "dot.hpp"

namespace sthash::ranking {

namespace {

double raised(double base, int power) {
    double result = 1;
    for (; power > 0; power >>= 1, base *= base)
        if (power & 1) result *= base;
    return result;
}

// Solves a system whose matrix is symmetric and positive definite, by elimination in its upper triangle. Both are
// overwritten, `values` by the solution. No pivot can be below `least`, but for rounding.
void solve(double* matrix, double* values, size_t n, double least) {
    for (size_t pivot = 0; pivot < n; ++pivot) {
        const double* top = matrix + pivot * n;
        matrix[pivot * n + pivot] = std::max(top[pivot], least);
        for (size_t row = pivot + 1; row < n; ++row) {
            const double factor = top[row] / top[pivot];
            if (factor == 0) continue;
            double* own = matrix + row * n;
            for (size_t column = row; column < n; ++column) own[column] -= factor * top[column];
            values[row] -= factor * values[pivot];
        }
    }
    for (size_t row = n; row-- > 0;) {
        double rest = values[row];
        for (size_t column = row + 1; column < n; ++column) rest -= matrix[row * n + column] * values[column];
        values[row] = rest / matrix[row * n + row];
    }
}

}  // namespace

std::vector<float> products_among(const RowsView& vectors, const GroupsView& groups, int threads, StopFlag& stop) {
    const size_t width = groups.width;
    std::vector<float> products(groups.count * width * width);
    parallel_for(groups.count, 1, threads, stop, [&](size_t begin, size_t end, int) {
        Spread spread;
        if (!vectors.dense) spread.resize(vectors.n_columns);
        for (size_t group = begin; group < end; ++group) {
            const int64_t* places = groups.places + group * width;
            float* own = products.data() + group * width * width;
            for (size_t i = 0; i < width && places[i] >= 0; ++i) {
                const SparseRow left = vectors.row(static_cast<size_t>(places[i]));
                if (!vectors.dense) spread.set(left);
                for (size_t j = 0; j <= i; ++j) {
                    const SparseRow right = vectors.row(static_cast<size_t>(places[j]));
                    own[i * width + j] = own[j * width + i] =
                        vectors.dense ? dot(left.values, right.values, vectors.n_columns) : dot(right, spread.data());
                }
                if (!vectors.dense) spread.clear(left);
            }
        }
    });
    return products;
}

std::vector<double> vote_weights(const VotersView& voters, int power, double ridge, int threads, StopFlag& stop) {
    const size_t width = voters.width;
    std::vector<double> weights(voters.likeness, voters.likeness + voters.count * width);
    parallel_for(voters.count, 1, threads, stop, [&](size_t begin, size_t end, int) {
        std::vector<double> matrix(width * width);
        for (size_t group = begin; group < end; ++group) {
            const float* products = voters.products + group * width * width;
            for (size_t row = 0; row < width; ++row) {
                for (size_t column = row; column < width; ++column)
                    matrix[row * width + column] = raised(products[row * width + column], power);
                matrix[row * width + row] += ridge;
            }
            solve(matrix.data(), weights.data() + group * width, width, ridge / 2);
        }
    });
    return weights;
}

}  // namespace sthash::ranking
