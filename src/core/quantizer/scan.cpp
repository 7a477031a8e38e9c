#include "quantizer/scan.hpp"

#include <algorithm>
#include <vector>

#include "quantizer/codewords.hpp"

namespace sthash::quantizer {

namespace {

constexpr size_t kBlock = 256;  // codes whose sums are taken before any of them is compared

struct Scored {
    float score;
    int64_t id;
};

// Whether a comes before b. A heap in this order has the worst one on top.
bool better(const Scored& a, const Scored& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
}

// sums[i] = the values that code i chooses, four codes at a time, as each sum has to wait for itself.
void sum_up(const uint8_t* codes, size_t count, size_t bytes, const float* table, float* sums) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const uint8_t* code = codes + i * bytes;
        float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
        for (size_t place = 0; place + 1 < bytes; ++place) {
            const float* values = table + place * kWords;
            a += values[code[place]];
            b += values[code[bytes + place]];
            c += values[code[2 * bytes + place]];
            d += values[code[3 * bytes + place]];
        }
        sums[i] = a, sums[i + 1] = b, sums[i + 2] = c, sums[i + 3] = d;
    }
    for (; i < count; ++i) {
        float sum = 0.0f;
        for (size_t place = 0; place + 1 < bytes; ++place) sum += table[place * kWords + codes[i * bytes + place]];
        sums[i] = sum;
    }
}

// The k best of the codes [first, last), in the order of a heap.
std::vector<Scored> best_of(const CodeTable& table, const float* values, float offset, size_t first, size_t last,
                            size_t k, StopFlag& stop) {
    std::vector<Scored> kept;
    kept.reserve(std::min(k, last - first));
    float sums[kBlock];
    for (size_t start = first; start < last && !stop.load(std::memory_order_relaxed); start += kBlock) {
        const size_t count = std::min(kBlock, last - start);
        const uint8_t* codes = table.codes + start * table.bytes;
        sum_up(codes, count, table.bytes, values, sums);
        for (size_t i = 0; i < count; ++i) {
            const float* correction = table.corrections + 2 * codes[(i + 1) * table.bytes - 1];
            const Scored one{(offset + correction[0] * sums[i]) + correction[1], static_cast<int64_t>(start + i)};
            if (kept.size() < k) {
                kept.push_back(one);
                std::push_heap(kept.begin(), kept.end(), better);
            } else if (better(one, kept.front())) {
                std::pop_heap(kept.begin(), kept.end(), better);
                kept.back() = one;
                std::push_heap(kept.begin(), kept.end(), better);
            }
        }
    }
    return kept;
}

}  // namespace

void scan(const CodeTable& table, const QueryTables& queries, size_t k, int64_t* ids, float* scores, int threads,
          StopFlag& stop) {
    // Few queries share their work among the threads.
    const size_t workers = static_cast<size_t>(std::max(threads, 1));
    const size_t parts = queries.count >= workers ? 1 : std::max<size_t>(1, std::min(workers, table.count / 4096));
    const size_t length = (table.count + parts - 1) / parts;
    std::vector<std::vector<Scored>> found(queries.count * parts);
    parallel_for(found.size(), 1, threads, stop, [&](size_t task, size_t, int) {
        const size_t query = task / parts, first = std::min(table.count, task % parts * length);
        found[task] = best_of(table, queries.tables + query * (table.bytes - 1) * kWords, queries.offsets[query], first,
                              std::min(table.count, first + length), k, stop);
    });
    if (stop.load()) return;
    for (size_t query = 0; query < queries.count; ++query) {
        std::vector<Scored>& all = found[query * parts];
        for (size_t part = 1; part < parts; ++part)
            all.insert(all.end(), found[query * parts + part].begin(), found[query * parts + part].end());
        std::sort(all.begin(), all.end(), better);
        for (size_t place = 0; place < k; ++place) {
            ids[query * k + place] = all[place].id;
            scores[query * k + place] = all[place].score;
        }
        all = {};
    }
}

}  // namespace sthash::quantizer
