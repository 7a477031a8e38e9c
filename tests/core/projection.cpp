// Projections of rows: onto planes that were learned, and onto random ones.
#include "projection/projection.hpp"

#include "check.hpp"

using namespace sthash;
using namespace sthash::projection;
using namespace sthash::test;

namespace {

void check_projection(size_t width, int threads) {
    const Rows rows = random_rows(70, 90, 12, true);
    std::vector<float> weights(90 * width);
    for (float& weight : weights) weight = static_cast<float>(draw(2000)) / 999 - 1;
    StopFlag stop{false};
    const std::vector<float> margins =
        project(rows.view(), {weights.data(), static_cast<ptrdiff_t>(width)}, threads, stop);
    for (size_t i = 0; i + 1 < rows.indptr.size(); ++i)
        for (size_t lane = 0; lane < width; ++lane) {
            float sum = 0;
            for (auto at = static_cast<size_t>(rows.indptr[i]); at < static_cast<size_t>(rows.indptr[i + 1]); ++at) {
                const float product = weights[static_cast<size_t>(rows.indices[at]) * width + lane] * rows.values[at];
                sum += product;
            }
            check(margins[i * width + lane] == sum, "projection");
        }
}

void check_scatter(size_t words, int threads) {
    const Rows rows = random_rows(50, 60, 20, true);
    constexpr uint64_t kSeed = 42;
    StopFlag stop{false};
    const std::vector<float> sums = scatter(rows.view(), words, kSeed, threads, stop);
    for (size_t i = 0; i + 1 < rows.indptr.size(); ++i) {
        const SparseRow row = rows.view().row(i);
        for (size_t plane = 0; plane < 64 * words; ++plane) {
            float sum = 0;
            for (ptrdiff_t at = 0; at < row.size; ++at) {
                const uint64_t column = static_cast<uint64_t>(row.indices[at]);
                uint64_t bits = kSeed + (column * words + plane / 64 + 1) * 0x9E3779B97F4A7C15u;
                bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
                bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
                bits ^= bits >> 31;
                sum += (bits >> (plane % 64) & 1) != 0 ? -row.values[at] : row.values[at];
            }
            check(sums[i * 64 * words + plane] == sum, "sides of random hyperplanes");
        }
    }
}

}  // namespace

void test_projection() {
    for (const size_t width : {size_t{16}, size_t{32}, size_t{64}, size_t{80}, size_t{144}})
        check_projection(width, width > 32 ? 3 : 1);
    for (const size_t words : {size_t{1}, size_t{3}}) check_scatter(words, 2);
}
