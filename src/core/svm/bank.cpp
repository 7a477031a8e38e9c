#include "svm/bank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numeric>

#include "compiler.hpp"
#include "vectors.hpp"

namespace sthash::svm {

namespace {

// Zeroed memory aligned for the widest vectors.
template <class T>
class AlignedArray {
 public:
    explicit AlignedArray(size_t size) : size_(size) {
        const size_t bytes = (std::max<size_t>(size, 1) * sizeof(T) + 63) / 64 * 64;
        data_.reset(static_cast<T*>(::operator new(bytes, kAlignment)));
        std::fill_n(data_.get(), size, T{});
    }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    T& operator[](size_t i) { return data_.get()[i]; }
    size_t size() const { return size_; }

 private:
    static constexpr std::align_val_t kAlignment{64};
    struct Free {
        void operator()(T* p) const { ::operator delete(p, kAlignment); }
    };
    size_t size_;
    std::unique_ptr<T, Free> data_;
};

int groups_for(size_t lanes) {
    return lanes > 32 ? 4 : lanes > 16 ? 2 : 1;
}

// The machines of one block; `lane_bit` says which bit a lane works on.
class BlockSolver {
 public:
    BlockSolver(const Problem& problem, size_t first_bit, size_t n_bits, Solution& solution, Progress& progress)
        : problem_(problem),
          solution_(solution),
          progress_(progress),
          lane_bit_(n_bits),
          groups_(groups_for(n_bits)),
          weights_(problem.n_features * width()),
          alphas_(problem.rows.n_rows * width()),
          labels_(problem.rows.n_rows * width()),
          intercepts_(width()),
          most_(width()),
          least_(width()),
          active_(width()) {
        std::iota(lane_bit_.begin(), lane_bit_.end(), first_bit);
        for (size_t i = 0; i < problem.rows.n_rows; ++i)
            for (size_t lane = 0; lane < n_bits; ++lane)
                labels_[i * width() + lane] = problem.bits[i * problem.n_bits + first_bit + lane] ? 1.0f : -1.0f;
        std::fill_n(active_.data(), n_bits, -1);
    }

    void solve(StopFlag& stop) {
        std::vector<int32_t> order(problem_.rows.n_rows);
        std::iota(order.begin(), order.end(), 0);
        uint64_t random = problem_.seed;
        for (int round = 1; round <= problem_.max_rounds && !lane_bit_.empty(); ++round) {
            shuffle(order, random);
            std::fill_n(most_.data(), width(), -std::numeric_limits<float>::infinity());
            std::fill_n(least_.data(), width(), std::numeric_limits<float>::infinity());
            Block block{groups_,      weights_.data(), alphas_.data(), labels_.data(), intercepts_.data(),
                        most_.data(), least_.data(),   active_.data()};
            constexpr size_t kChunk = 256;
            for (size_t from = 0; from < order.size(); from += kChunk) {
                if (stop.load(std::memory_order_relaxed)) return;
                const size_t count = std::min(kChunk, order.size() - from);
                descend_rows(problem_.rows, problem_.terms, order.data() + from, static_cast<ptrdiff_t>(count), block);
            }
            retire_converged(round);
        }
        const size_t left = lane_bit_.size();
        for (size_t lane = 0; lane < left; ++lane)
            if (active_[lane] != 0) solution_.rounds[lane_bit_[lane]] = problem_.max_rounds + 1;
        write_all();
    }

 private:
    size_t width() const { return static_cast<size_t>(groups_) * kLanesInGroup; }

    static void shuffle(std::vector<int32_t>& order, uint64_t& random) {
        for (size_t i = order.size(); i > 1; --i) {
            random += 0x9E3779B97F4A7C15ull;  // SplitMix64
            uint64_t z = random;
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
            z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
            z ^= z >> 31;
            std::swap(order[i - 1], order[static_cast<size_t>(wide_product(z, i).high)]);
        }
    }

    void retire_converged(int round) {
        size_t left = 0;
        for (size_t lane = 0; lane < lane_bit_.size(); ++lane) {
            if (active_[lane] == 0) continue;
            if (most_[lane] - least_[lane] <= problem_.tolerance) {
                solution_.rounds[lane_bit_[lane]] = round;
                active_[lane] = 0;
                progress_.done.fetch_add(1, std::memory_order_relaxed);
            } else {
                ++left;
            }
        }
        if (left == 0) {
            write_all();
            lane_bit_.clear();
        } else if (groups_for(left) < groups_) {
            write_all();
            keep_active(left);
        }
    }

    void write_all() {
        const size_t n_bits = problem_.n_bits;
        for (size_t feature = 0; feature < problem_.n_features; ++feature)
            for (size_t lane = 0; lane < lane_bit_.size(); ++lane)
                solution_.weights[feature * n_bits + lane_bit_[lane]] = weights_[feature * width() + lane];
        for (size_t lane = 0; lane < lane_bit_.size(); ++lane)
            solution_.intercepts[lane_bit_[lane]] = intercepts_[lane] * problem_.terms.bias;
    }

    // Moves the lanes that still work next to each other, into a narrower block.
    void keep_active(size_t left) {
        std::vector<size_t> lanes;
        for (size_t lane = 0; lane < lane_bit_.size(); ++lane)
            if (active_[lane] != 0) lanes.push_back(lane);
        const size_t old_width = width();
        groups_ = groups_for(left);
        narrow(weights_, problem_.n_features, lanes, old_width);
        narrow(alphas_, problem_.rows.n_rows, lanes, old_width);
        narrow(labels_, problem_.rows.n_rows, lanes, old_width);
        narrow(intercepts_, 1, lanes, old_width);
        std::vector<size_t> bits;
        for (size_t lane : lanes) bits.push_back(lane_bit_[lane]);
        lane_bit_ = bits;
        std::fill_n(active_.data(), width(), 0);
        std::fill_n(active_.data(), left, -1);
    }

    // In place: the narrower row never ends beyond where the wider one starts.
    void narrow(AlignedArray<float>& array, size_t rows, const std::vector<size_t>& lanes, size_t old_width) const {
        for (size_t row = 0; row < rows; ++row) {
            float kept[4 * kLanesInGroup] = {};
            for (size_t to = 0; to < lanes.size(); ++to) kept[to] = array[row * old_width + lanes[to]];
            std::copy_n(kept, width(), array.data() + row * width());
        }
    }

    const Problem& problem_;
    Solution& solution_;
    Progress& progress_;
    std::vector<size_t> lane_bit_;
    int groups_;
    AlignedArray<float> weights_, alphas_, labels_, intercepts_, most_, least_;
    AlignedArray<int32_t> active_;
};

}  // namespace

Solution solve_bank(const Problem& problem, int threads, StopFlag& stop, Progress& progress) {
    progress.total = problem.n_bits;
    Solution solution{std::vector<float>(problem.n_features * problem.n_bits), std::vector<float>(problem.n_bits),
                      std::vector<int32_t>(problem.n_bits)};
    size_t block = 4 * kLanesInGroup;
    while (block > kLanesInGroup && (problem.n_bits + block - 1) / block < static_cast<size_t>(threads)) block /= 2;
    parallel_for(problem.n_bits, block, threads, stop, [&](size_t begin, size_t end, int) {
        BlockSolver(problem, begin, end - begin, solution, progress).solve(stop);
    });
    return solution;
}

}  // namespace sthash::svm
