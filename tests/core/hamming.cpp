// The Hamming kernels, the index and the balls of collections.
#include <algorithm>
#include <bitset>
#include <map>
#include <thread>

#include "check.hpp"
#include "hamming/index.hpp"
#include "hamming/join.hpp"
#include "ranking/ball.hpp"

using namespace sthash;
using namespace sthash::hamming;
using test::draw;
using test::random_codes;

namespace {

[[noreturn]] void fail(const char* what, int n_bits) {
    test::fail(what + (" at " + std::to_string(n_bits)) + " bits");
}

int distance(const uint64_t* a, const uint64_t* b, int words) {
    int sum = 0;
    for (int w = 0; w < words; ++w) sum += static_cast<int>(std::bitset<64>(a[w] ^ b[w]).count());
    return sum;
}

struct Truth {
    int words;
    std::map<int64_t, std::vector<uint64_t>> held;

    std::vector<Hit> near(const uint64_t* query, int radius) const {
        std::vector<Hit> hits;
        for (const auto& [id, code] : held)
            if (const int d = distance(code.data(), query, words); d <= radius) hits.push_back({id, d});
        std::sort(hits.begin(), hits.end());
        return hits;
    }
};

bool same(const std::vector<Hit>& a, const std::vector<Hit>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Hit& x, const Hit& y) { return x.id == y.id && x.distance == y.distance; });
}

void check_searches(Index& index, const Truth& truth, int n_bits) {
    for (const size_t queries : {size_t{1}, size_t{15}})
        for (const int radius : {0, 2, n_bits / 4, n_bits}) {
            const std::vector<uint64_t> codes = random_codes(queries, n_bits);
            const size_t k = 1 + draw(20);
            StopFlag stop{false};
            std::vector<std::vector<Hit>> near;
            for (size_t q = 0; q < queries; ++q) near.push_back(truth.near(&codes[q * truth.words], radius));
            for (const Task task : {Task::nearest, Task::radius, Task::count}) {
                const Request request{task, k, radius, codes.data(), queries, 2, index.strategy()};
                index.search(request, std::nullopt, stop, [&](size_t q, Collector& collector) {
                    std::vector<Hit> wanted = near[q];
                    if (task == Task::count) {
                        if (collector.count() != wanted.size()) fail("count", n_bits);
                        return;
                    }
                    if (task == Task::nearest && wanted.size() > k) wanted.resize(k);
                    if (!same(collector.finish(), wanted)) fail("search", n_bits);
                });
            }
        }
}

// The sum that weighted_kernels.hpp promises: four bits, every fourth four, then the four sums.
float weighted_distance(const uint64_t* code, const uint64_t* query, const float* weights, int n_bits) {
    float sums[4] = {};
    for (int first = 0; first < n_bits; first += 4) {
        float sum = 0;
        for (int p = first; p < std::min(first + 4, n_bits); ++p)
            if ((code[p / 64] ^ query[p / 64]) >> (p % 64) & 1) sum += weights[p];
        sums[first / 4 % 4] += sum;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void check_weighted_searches(Index& index, const Truth& truth, int n_bits) {
    for (const size_t queries : {size_t{1}, size_t{70}})
        for (const int radius : {n_bits / 4, n_bits}) {
            const std::vector<uint64_t> codes = random_codes(queries, n_bits);
            std::vector<float> weights(queries * static_cast<size_t>(n_bits));
            for (float& weight : weights) weight = static_cast<float>(draw(5)) * 0.3f;
            const size_t k = 1 + draw(20);
            StopFlag stop{false};
            const weighted::Request request{k, radius, codes.data(), weights.data(), queries, 2};
            index.search(request, std::nullopt, stop, [&](size_t q, weighted::Collector& collector) {
                if (q > 3) return;
                std::vector<weighted::Hit> wanted;
                for (const auto& [id, code] : truth.held) {
                    const uint64_t* query = &codes[q * truth.words];
                    if (distance(code.data(), query, truth.words) > radius) continue;
                    wanted.push_back({id, weighted_distance(code.data(), query, &weights[q * n_bits], n_bits)});
                }
                std::sort(wanted.begin(), wanted.end());
                wanted.resize(std::min(k, wanted.size()));
                const std::vector<weighted::Hit>& found = collector.finish();
                if (!std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                                [](const auto& x, const auto& y) { return x.id == y.id && x.distance == y.distance; }))
                    fail("weighted search", n_bits);
            });
        }
}

// The balls that a collection looks at, bounded by a count: all within the least radius that holds so many.
void check_balls(int n_bits) {
    const size_t words = (static_cast<size_t>(n_bits) + 63) / 64, count = 1 + draw(1200), wanted = 40;
    const std::vector<uint64_t> codes = random_codes(count, n_bits), query = random_codes(1, n_bits);
    std::vector<float> margins(static_cast<size_t>(n_bits));
    for (float& margin : margins) margin = static_cast<float>(draw(1000)) - 500;
    const ranking::CodesView documents{codes.data(), words, count};
    const ranking::BallQueries queries{{query.data(), words, 1}, margins.data(), margins.size()};
    StopFlag stop{false};
    ranking::Ball ball =
        std::move(ranking::gather_balls(documents, queries, 0, 1, {std::nullopt, wanted}, stop).front());
    const std::vector<float> weights = ranking::whole_weights(margins.data(), margins.size(), words);
    std::vector<int> distances(count);
    for (size_t i = 0; i < count; ++i)
        for (size_t p = 0; p < margins.size(); ++p)
            if ((codes[i * words + p / 64] ^ query[p / 64]) >> (p % 64) & 1)
                distances[i] += static_cast<int>(weights[p]);
    size_t inside = 0;
    for (const int d : distances) inside += static_cast<size_t>(d) <= ball.radius();
    const std::vector<ranking::Ball::Member>& members = ball.finish();
    bool right = members.size() == inside && members.size() >= std::min(wanted, count);
    size_t nearer = 0;
    for (const ranking::Ball::Member& member : members) {
        right = right && member.distance == distances[static_cast<size_t>(member.place)];
        nearer += static_cast<size_t>(member.distance) < ball.radius();
    }
    if (!right || (count >= wanted && nearer >= wanted)) fail("ball", n_bits);
}

void check_pairs(Index& index, const Truth& truth, int n_bits) {
    size_t wanted = 0, found = 0;
    for (const auto& [id, code] : truth.held)
        for (const Hit& hit : truth.near(code.data(), 2)) wanted += hit.id > id;
    Join join(index, index, 2, 2);
    StopFlag stop{false};
    for (PairBlock block = join.next(stop); !block.left.empty(); block = join.next(stop)) found += block.left.size();
    if (found != wanted) fail("join", n_bits);
}

void check_index(int n_bits, Strategy strategy) {
    Truth truth{(n_bits + 63) / 64, {}};
    Index index(n_bits, strategy);
    const auto remember = [&](const std::vector<uint64_t>& codes, const std::vector<int64_t>& ids) {
        for (size_t i = 0; i < ids.size(); ++i)
            truth.held[ids[i]] = {&codes[i * truth.words], &codes[i * truth.words] + truth.words};
    };
    for (int round = 0; round < 3; ++round) {
        const size_t count = 100 + draw(700);
        std::vector<uint64_t> codes = random_codes(count, n_bits);
        std::vector<int64_t> ids(count);
        const bool own = round > 0;
        for (size_t i = 0; i < count; ++i) ids[i] = static_cast<int64_t>(own ? 10000 * round + 7 * (count - i) : i);
        index.add(codes.data(), own ? ids.data() : nullptr, count);
        remember(codes, ids);
        check_searches(index, truth, n_bits);
        try {
            index.add(codes.data(), ids.data(), count);
            fail("adding twice", n_bits);
        } catch (const DuplicateId&) {
        }
        std::vector<int64_t> gone;
        for (const auto& [id, code] : truth.held)
            if (draw(4) == 0) gone.push_back(id);
        index.remove({gone.data(), gone.size()});
        for (int64_t id : gone) truth.held.erase(id);
        std::vector<int64_t> moved;
        for (const auto& [id, code] : truth.held)
            if (draw(10) == 0) moved.push_back(id);
        codes = random_codes(moved.size(), n_bits);
        index.update(codes.data(), {moved.data(), moved.size()});
        remember(codes, moved);
        check_searches(index, truth, n_bits);
        check_weighted_searches(index, truth, n_bits);
    }
    check_pairs(index, truth, n_bits);
    std::FILE* file = std::tmpfile();
    index.save(fileno(file));
    Index opened(open_snapshot(std::make_shared<const MappedFile>(fileno(file), strategy != Strategy::scan, "saved")),
                 strategy);
    std::fclose(file);
    check_searches(opened, truth, n_bits);
}

// A writer beside readers: what the thread sanitizer is for.
void check_threads() {
    Index index(64, Strategy::automatic);
    const std::vector<uint64_t> codes = random_codes(3000, 64);
    index.add(codes.data(), nullptr, 2000);
    std::atomic<bool> done{false};
    std::vector<std::thread> readers;
    for (int r = 0; r < 4; ++r)
        readers.emplace_back([&] {
            while (!done.load()) {
                StopFlag stop{false};
                const Request request{Task::nearest, 5, 64, codes.data(), 20, 2, Strategy::automatic};
                index.search(request, std::nullopt, stop, [](size_t, Collector& collector) { collector.finish(); });
                const int64_t some[] = {1, 5, 99999};
                index.locate({some, 3});
                index.build(1, stop);
            }
        });
    for (int64_t round = 0; round < 60; ++round) {
        const int64_t ids[] = {5000 - round * 2, 5000 - round * 2 - 1};
        index.add(&codes[2000 + static_cast<size_t>(round)], ids, 2);
        index.update(codes.data(), {ids, 2});
        index.remove({ids, 1});
    }
    done.store(true);
    for (std::thread& reader : readers) reader.join();
}

}  // namespace

void test_hamming() {
    for (const int n_bits : {1, 7, 16, 24, 32, 40, 64, 65, 128, 200, 256, 500, 512, 1024})
        for (const Strategy strategy : {Strategy::automatic, Strategy::scan, Strategy::tables}) {
            check_index(n_bits, strategy);
            check_balls(n_bits);
        }
    check_threads();
}
