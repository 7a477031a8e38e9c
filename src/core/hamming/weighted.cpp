#include "hamming/weighted.hpp"

#include <algorithm>
#include <limits>

#include "hamming/kernels.hpp"
#include "hamming/weighted_kernels.hpp"
#include "simd.hpp"

namespace sthash::hamming::weighted {

void Collector::push(int64_t id, float distance) {
    const Hit hit{id, distance};
    if (!(hit < worst_)) return;
    hits_.push_back(hit);
    if (hits_.size() >= most_) cut();
}

void Collector::merge(const Collector& other) {
    for (const Hit& hit : other.hits_) push(hit.id, hit.distance);
}

std::vector<Hit>& Collector::finish() {
    cut();
    std::sort(hits_.begin(), hits_.end());
    return hits_;
}

void Collector::cut() {
    if (hits_.size() < k_) return;
    const auto last = hits_.begin() + static_cast<ptrdiff_t>(k_) - 1;
    std::nth_element(hits_.begin(), last, hits_.end());
    worst_ = *last;
    hits_.resize(k_);
}

double foreseen(uint64_t slots, int words, size_t queries) {
    const double path = active_path() == SimdPath::avx512 ? 1 : active_path() == SimdPath::avx2 ? 3 : 20;
    return static_cast<double>(slots) * words * (0.4 + 0.07 * path * static_cast<double>(queries));
}

namespace {

// Some queries with their tables.
class Queries {
 public:
    // codes: count × ceil(n_bits / 64) words, which must outlive the queries. weights: count × n_bits, not negative.
    Queries(const uint64_t* codes, const float* weights, size_t count, int n_bits)
        : kernels_(kernels()),
          n_bits_(n_bits),
          words_((n_bits + 63) / 64),
          quads_((n_bits + 15) / 16),
          lines_((static_cast<size_t>(words_ * kernels_.parts_of_word) << kernels_.part_bits) / 64 + 1),
          codes_(codes),
          weights_(count * words_ * 64),
          exact_(count * quads_ * 64),
          bounds_(count * lines_),
          scales_(count),
          limits_(count) {
        for (size_t q = 0; q < count; ++q) {
            std::copy_n(weights + q * n_bits, n_bits, &weights_[q * words_ * 64]);
            for (int n = 0; n < 4 * quads_; ++n) build_exact(q, n);
        }
    }

    const uint64_t* code(size_t q) const { return codes_ + q * words_; }

    float weigh_one(size_t q, const uint64_t* code) const { return weighted::weigh_one(code, quads_, exact(q)); }

    void weigh(size_t q, const uint64_t* codes, size_t count, float* distances) const {
        kernels_.weigh(codes, count, words_, quads_, exact(q), distances);
    }

    // Finds the codes of split groups that may be within the limit: all that are, and few others. See Kernels::filter.
    size_t filter(size_t q, float limit, const uint8_t* planes, size_t groups, uint32_t* found) {
        if (limit != limits_[q] || scales_[q] == 0) set_limit(q, limit);
        const uint32_t most = static_cast<uint32_t>(limit * scales_[q] * kSlack);
        return kernels_.filter(planes, groups, n_bits_, bounds_[q * lines_].bytes, most, found);
    }

 private:
    // Far more than rounding can add to a lower bound.
    static constexpr float kSlack = 1.0001f;

    const float* exact(size_t q) const { return &exact_[q * quads_ * 64]; }

    void build_exact(size_t q, int n) {
        const uint64_t* query = code(q);
        float* table = &exact_[q * quads_ * 64 + n * 16];
        table[0] = 0;
        for (int b = 0; b < 4; ++b) {
            const float weight = weights_[q * words_ * 64 + 4 * n + b];
            const bool on = query[n / 16] >> (n % 16 * 4 + b) & 1;
            for (int x = 0; x < 1 << b; ++x) {
                table[x + (1 << b)] = table[x] + (on ? 0 : weight);
                table[x] += on ? weight : 0;
            }
        }
    }

    // The scale is renewed when the limit has fallen so far that the bounds have become coarse. Bytes over the whole
    // code stand for up to the limit; bytes over a word each for twice the limit's even share.
    void set_limit(size_t q, float limit) {
        constexpr float kLeast = 1e-30f, kCoarse = 0.8f;
        const float capacity = words_ <= kShort ? 254.0f : 127.0f * static_cast<float>(words_);
        limits_[q] = limit;
        if (limit * scales_[q] > kCoarse * capacity && scales_[q] > 0) return;
        scales_[q] = capacity / std::max(limit, kLeast);
        kernels_.build_bounds(code(q), &weights_[q * words_ * 64], words_, scales_[q], bounds_[q * lines_].bytes);
    }

    const Kernels& kernels_;
    const int n_bits_, words_, quads_;
    const size_t lines_;
    const uint64_t* codes_;
    std::vector<float> weights_, exact_;
    std::vector<Line> bounds_;
    std::vector<float> scales_, limits_;
};

// One stretch of the data for some queries.
class Scan {
 public:
    Scan(const ScanData& data, const Request& request, size_t first, size_t count, Collector* collectors)
        : data_(data),
          radius_(request.radius),
          count_(count),
          queries_(request.queries + first * data.words, request.weights + first * data.n_bits, count, data.n_bits),
          collectors_(collectors),
          planes_((size_t{kPiece} / kernels().group + 1) * group_bytes() / sizeof(Line) + 1) {}

    void run(size_t first_run, size_t last_run, StopFlag& stop) {
        // Pieces stay in the first-level cache for all queries; the first are small, since the limits are wide then.
        const uint32_t most = std::clamp<uint32_t>(kPiece / static_cast<uint32_t>(data_.words), kSmallPiece, kPiece);
        uint32_t piece = kSmallPiece;
        for (size_t r = first_run; r < last_run; ++r) {
            const Run& run = data_.runs[r];
            for (uint32_t begin = 0, size; begin < run.count && !stop.load(std::memory_order_relaxed);
                 begin += size, piece = std::min(2 * piece, most)) {
                size = std::min(piece, run.count - begin);
                is_split_ = false;
                for (size_t q = 0; q < count_; ++q) look(run, begin, size, q);
            }
        }
    }

 private:
    static constexpr uint32_t kPiece = 2048, kSmallPiece = 256;

    size_t group_bytes() const {
        return size_t{kernels().group} * static_cast<size_t>(kernels().parts_of_word * data_.words);
    }

    void look(const Run& run, uint32_t begin, uint32_t size, size_t q) {
        const uint64_t* codes = run.codes(data_.words) + size_t{begin} * data_.words;
        const float limit = collectors_[q].limit();
        if (limit == 0 && data_.in_order) return;  // nothing is nearer, and of equals the first ids win
        size_t near = size;
        if (limit < std::numeric_limits<float>::infinity()) {
            if (!is_split_) kernels().split(codes, size, data_.words, planes_[0].bytes);
            is_split_ = true;
            const size_t groups = (size + kernels().group - 1) / kernels().group;
            near = queries_.filter(q, limit, planes_[0].bytes, groups, found_);
        } else if (radius_ < data_.n_bits) {
            near = hamming::kernels().filter(codes, size, data_.words, queries_.code(q), static_cast<uint32_t>(radius_),
                                             found_, bits_);
        }
        if (near > size / 8)
            take_all(run, begin, size, codes, q);
        else
            for (size_t i = 0; i < near; ++i)
                if (found_[i] < size) take(run, begin + found_[i], codes + size_t{found_[i]} * data_.words, q);
    }

    void take(const Run& run, uint32_t offset, const uint64_t* code, size_t q) {
        const float distance = queries_.weigh_one(q, code);
        if (distance <= collectors_[q].limit() && is_wanted(run, offset, code, q))
            collectors_[q].push(run.id(offset), distance);
    }

    void take_all(const Run& run, uint32_t offset, uint32_t count, const uint64_t* codes, size_t q) {
        queries_.weigh(q, codes, count, distances_);
        for (uint32_t i = 0; i < count; ++i)
            if (distances_[i] <= collectors_[q].limit() &&
                is_wanted(run, offset + i, codes + size_t{i} * data_.words, q))
                collectors_[q].push(run.id(offset + i), distances_[i]);
    }

    bool is_wanted(const Run& run, uint32_t offset, const uint64_t* code, size_t q) const {
        if (run.is_dead(offset)) return false;
        uint32_t place, bits;
        return radius_ >= data_.n_bits || hamming::kernels().filter(code, 1, data_.words, queries_.code(q),
                                                                    static_cast<uint32_t>(radius_), &place, &bits) > 0;
    }

    const ScanData& data_;
    const int radius_;
    const size_t count_;
    Queries queries_;
    Collector* collectors_;
    std::vector<Line> planes_;
    bool is_split_ = false;
    uint32_t found_[kPiece + 64], bits_[kPiece];
    float distances_[kPiece];
};

}  // namespace

void search(const ScanData& data, const Request& request, StopFlag& stop, const Finish& finish) {
    constexpr double kWorthThread = 100e3;  // nanoseconds; starting one takes some ten thousand
    constexpr size_t kTables = 512 << 10;   // bytes of tables that stay in the second-level cache
    const size_t threads = static_cast<size_t>(std::clamp<double>(
        foreseen(data.slots(), data.words, request.count) / kWorthThread, 1, std::max(request.threads, 1)));
    // Many queries are dealt out to the threads; few are answered together, each thread scanning a part.
    const bool many = request.count >= 32 * threads;
    const size_t parts = many ? 1 : std::max<size_t>(1, std::min(threads, data.runs.size()));
    const size_t table_bytes = size_t{2048} * data.words;
    const size_t share = many ? (request.count + threads - 1) / threads : request.count;
    const size_t block = std::clamp<size_t>(share, 1, std::max<size_t>(64, kTables / table_bytes));
    const int dealt = static_cast<int>(many ? threads : 1);
    parallel_for(request.count, block, dealt, stop, [&](size_t begin, size_t end, int) {
        const size_t count = end - begin;
        std::vector<std::vector<Collector>> found(parts, std::vector<Collector>(count, Collector(request.k)));
        parallel_for(parts, 1, static_cast<int>(parts), stop, [&](size_t p, size_t, int) {
            Scan scan(data, request, begin, count, found[p].data());
            scan.run(data.runs.size() * p / parts, data.runs.size() * (p + 1) / parts, stop);
        });
        if (stop.load()) return;
        for (size_t q = 0; q < count; ++q) {
            for (size_t p = 1; p < parts; ++p) found[0][q].merge(found[p][q]);
            finish(begin + q, found[0][q]);
        }
    });
}

}  // namespace sthash::hamming::weighted
