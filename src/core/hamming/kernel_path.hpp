// The Hamming kernels for one SIMD path. No include guard: kernels.hpp includes this file once a path, with
// STHASH_LANES (64-bit lanes of a vector) and STHASH_TERNARY (has vpternlog and vpopcnt) set.

typedef uint64_t Lanes __attribute__((vector_size(STHASH_LANES * 8), may_alias));
constexpr int kLanes = STHASH_LANES;
constexpr uint32_t kBlock = 64 * kLanes;  // codes in one bit-sliced block

#if STHASH_TERNARY
inline Lanes parity(Lanes a, Lanes b, Lanes c) {
    return (Lanes)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0x96);
}
inline Lanes majority(Lanes a, Lanes b, Lanes c) {
    return (Lanes)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0xE8);
}
#else
inline Lanes parity(Lanes a, Lanes b, Lanes c) {
    return a ^ b ^ c;
}
inline Lanes majority(Lanes a, Lanes b, Lanes c) {
    return (a & b) | (c & (a ^ b));
}
#endif

#if STHASH_POPCNT
inline uint32_t ones(uint64_t x) {
    return static_cast<uint32_t>(__builtin_popcountll(x));
}
#else
inline uint32_t ones(uint64_t x) {  // without the instruction the builtin is a call
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<uint32_t>((x * 0x0101010101010101u) >> 56);
}
#endif

inline uint32_t distance(const uint64_t* a, const uint64_t* b, int words) {
    uint32_t sum = 0;
    int w = 0;
#if STHASH_TERNARY
    if (words >= 8) {
        Lanes counts{};
        for (; w + 8 <= words; w += 8)
            counts += (Lanes)_mm512_popcnt_epi64(_mm512_loadu_si512(a + w) ^ _mm512_loadu_si512(b + w));
        counts += __builtin_shufflevector(counts, counts, 4, 5, 6, 7, 0, 1, 2, 3);
        counts += __builtin_shufflevector(counts, counts, 2, 3, 0, 1, 6, 7, 4, 5);
        sum = static_cast<uint32_t>(counts[0] + counts[1]);
    }
#endif
    for (; w < words; ++w) sum += ones(a[w] ^ b[w]);
    return sum;
}

// Appends offset and distance of every code within `limit` of the query; `offsets` and `distances` have room
// for all.
template <int Words>
size_t filter_words(const uint64_t* codes, size_t count, int words, const uint64_t* query, uint32_t limit,
                    uint32_t* offsets, uint32_t* distances) {
    const int w = Words > 0 ? Words : words;
    size_t found = 0, i = 0;
    for (; i + 4 <= count; i += 4) {
        uint32_t d[4];
        for (int j = 0; j < 4; ++j) d[j] = distance(codes + (i + j) * w, query, w);
        if (std::min(std::min(d[0], d[1]), std::min(d[2], d[3])) > limit) continue;
        for (uint32_t j = 0; j < 4; ++j) {
            offsets[found] = static_cast<uint32_t>(i) + j;
            distances[found] = d[j];
            found += d[j] <= limit;
        }
    }
    for (; i < count; ++i) {
        const uint32_t d = distance(codes + i * w, query, w);
        offsets[found] = static_cast<uint32_t>(i);
        distances[found] = d;
        found += d <= limit;
    }
    return found;
}

#if STHASH_TERNARY
inline size_t append(uint64_t mask, const uint64_t* codes, uint32_t first, uint64_t query, size_t found,
                     uint32_t* offsets, uint32_t* distances) {
    for (; mask != 0; mask &= mask - 1) {
        const uint32_t i = first + static_cast<uint32_t>(__builtin_ctzll(mask));
        offsets[found] = i;
        distances[found++] = ones(codes[i] ^ query);
    }
    return found;
}

inline size_t filter_one(const uint64_t* codes, size_t count, uint64_t query, uint32_t limit, uint32_t* offsets,
                         uint32_t* distances) {
    const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(query)), bound = _mm512_set1_epi64(limit);
    size_t found = 0, i = 0;
    const auto near = [&](__m512i code) {
        return _mm512_cmple_epu64_mask(_mm512_popcnt_epi64(_mm512_xor_si512(code, wanted)), bound);
    };
    for (; i + 64 <= count; i += 64) {
        uint64_t mask = 0;
        for (int j = 0; j < 8; ++j)
            mask |= static_cast<uint64_t>(near(_mm512_loadu_si512(codes + i + 8 * j))) << (8 * j);
        if (mask != 0) found = append(mask, codes, static_cast<uint32_t>(i), query, found, offsets, distances);
    }
    for (; i < count; i += 8) {
        const __mmask8 valid = static_cast<__mmask8>(count - i >= 8 ? 0xFF : (1u << (count - i)) - 1);
        const uint64_t mask = near(_mm512_maskz_loadu_epi64(valid, codes + i)) & valid;
        found = append(mask, codes, static_cast<uint32_t>(i), query, found, offsets, distances);
    }
    return found;
}

// Two or four words a code: the counts of eight codes are folded into one vector, in the order that folding
// leaves.
template <int Words>
size_t filter_folded(const uint64_t* codes, size_t count, const uint64_t* query, uint32_t limit, uint32_t* offsets,
                     uint32_t* distances) {
    static_assert(Words == 2 || Words == 4);
    static constexpr uint8_t kOrder2[8] = {0, 4, 1, 5, 2, 6, 3, 7}, kOrder4[8] = {0, 2, 1, 3, 4, 6, 5, 7};
    const uint8_t* order = Words == 2 ? kOrder2 : kOrder4;
    Lanes wanted;
    for (int j = 0; j < 8; ++j) wanted[j] = query[j % Words];
    const __m512i bound = _mm512_set1_epi64(limit);
    const auto fold = [](Lanes a, Lanes b) {
        return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    };
    size_t found = 0, i = 0;
    for (; i + 8 <= count; i += 8) {
        Lanes sum[Words];
        for (int j = 0; j < Words; ++j)
            sum[j] = (Lanes)_mm512_popcnt_epi64((__m512i)wanted ^ _mm512_loadu_si512(codes + i * Words + 8 * j));
        Lanes total = fold(sum[0], sum[1]);
        if constexpr (Words == 4) {
            // Each fold holds half sums of a code in neighbouring pairs of lanes; bring the halves together.
            const Lanes other = fold(sum[2], sum[3]);
            total = __builtin_shufflevector(total, other, 0, 1, 4, 5, 8, 9, 12, 13) +
                    __builtin_shufflevector(total, other, 2, 3, 6, 7, 10, 11, 14, 15);
        }
        for (unsigned mask = _mm512_cmple_epu64_mask((__m512i)total, bound); mask != 0; mask &= mask - 1) {
            const size_t code = i + order[__builtin_ctz(mask)];
            offsets[found] = static_cast<uint32_t>(code);
            distances[found++] = distance(codes + code * Words, query, Words);
        }
    }
    const size_t rest =
        filter_words<Words>(codes + i * Words, count - i, Words, query, limit, offsets + found, distances + found);
    for (size_t j = 0; j < rest; ++j) offsets[found + j] += static_cast<uint32_t>(i);
    return found + rest;
}
#endif

inline size_t filter(const uint64_t* codes, size_t count, int words, const uint64_t* query, uint32_t limit,
                     uint32_t* offsets, uint32_t* distances) {
    switch (words) {
#if STHASH_TERNARY
        case 1:
            return filter_one(codes, count, *query, limit, offsets, distances);
        case 2:
            return filter_folded<2>(codes, count, query, limit, offsets, distances);
        case 4:
            return filter_folded<4>(codes, count, query, limit, offsets, distances);
#else
        case 1:
            return filter_words<1>(codes, count, words, query, limit, offsets, distances);
        case 2:
            return filter_words<2>(codes, count, words, query, limit, offsets, distances);
        case 4:
            return filter_words<4>(codes, count, words, query, limit, offsets, distances);
#endif
        case 3:
            return filter_words<3>(codes, count, words, query, limit, offsets, distances);
        case 8:
            return filter_words<8>(codes, count, words, query, limit, offsets, distances);
        case 16:
            return filter_words<16>(codes, count, words, query, limit, offsets, distances);
        default:
            return filter_words<0>(codes, count, words, query, limit, offsets, distances);
    }
}

// Transposes 64 vectors in place: afterwards bit i of lane j of vector p is bit p of lane j of the former
// vector i.
inline void transpose(Lanes* rows) {
    uint64_t low = 0x00000000FFFFFFFFu;
    for (int width = 32; width > 0; width >>= 1, low ^= low << width) {
        const Lanes keep = Lanes{} + low;
        for (int i = 0; i < 64; i = (i + width + 1) & ~width) {
            const Lanes swap = ((rows[i] >> width) ^ rows[i + width]) & keep;
            rows[i] ^= swap << width;
            rows[i + width] ^= swap;
        }
    }
}

// The bit planes of a block, followed by the parities of their triples: node 3i, 3i + 1 and 3i + 2 are added
// by full adder i, whose sum is node planes + i. A sum only changes sign with the query, so every carry of
// the whole first layer of the counter has just eight values, which are laid out in `table` for the queries
// to pick from.
inline void build_carries(const uint64_t* codes, uint32_t count, int words, int planes, Lanes* nodes, Lanes* table) {
    Lanes rows[64];
    for (int w = 0; w < words; ++w) {
        for (int i = 0; i < 64; ++i) {
            uint64_t lane[kLanes];
            for (int j = 0; j < kLanes; ++j) {
                const uint32_t code = static_cast<uint32_t>(i) * kLanes + static_cast<uint32_t>(j);
                lane[j] = code < count ? codes[static_cast<size_t>(code) * words + w] : 0;
            }
            std::memcpy(&rows[i], lane, sizeof lane);
        }
        transpose(rows);
        const int used = std::min(64, planes - 64 * w);
        for (int i = 0; i < used; ++i) nodes[64 * w + i] = rows[i];
    }
    const int adders = planes / 2;
    for (int i = 0; i < adders; ++i) {
        const Lanes a = nodes[3 * i], b = nodes[3 * i + 1];
        const Lanes c = i + 1 < adders ? nodes[3 * i + 2] : Lanes{};  // the last one adds the threshold's lowest bit
        nodes[planes + i] = parity(a, b, c);
        for (int variant = 0; variant < 4; ++variant) {
            const Lanes flip_a = Lanes{} - static_cast<uint64_t>(variant & 1);
            const Lanes flip_b = Lanes{} - static_cast<uint64_t>(variant >> 1);
            const Lanes carry = majority(a ^ flip_a, b ^ flip_b, c);
            table[8 * i + variant] = carry;
            table[8 * i + 7 - variant] = ~carry;
        }
    }
}

// Adds 2^Level carries, those from First on, into the counters and gives the carry out of the highest of
// them.
template <int Level, int First>
inline __attribute__((always_inline)) Lanes count_up(const uint64_t* table, const uint16_t* picks, Lanes* counters) {
    if constexpr (Level == 0) {
        return *reinterpret_cast<const Lanes*>(table + picks[First]);
    } else {
        const Lanes a = count_up<Level - 1, First>(table, picks, counters);
        const Lanes b = count_up<Level - 1, First + (1 << (Level - 1))>(table, picks, counters);
        const Lanes kept = counters[Level - 1];
        counters[Level - 1] = parity(kept, a, b);
        return majority(kept, a, b);
    }
}

// One bit a code: whether it is farther than the threshold that seeds the counters.
template <int Level, bool OneUnit>
inline __attribute__((always_inline)) Lanes farther(const uint64_t* table, const uint16_t* picks, const uint64_t* seeds,
                                                    int units, int high) {
    Lanes counters[Level], upper[4];
    for (int j = 0; j < Level; ++j) counters[j] = Lanes{} + seeds[j];
    if constexpr (OneUnit) return count_up<Level, 0>(table, picks, counters);
    for (int j = 0; j < high; ++j) upper[j] = Lanes{} + seeds[Level + j];
    Lanes over{};
    for (int unit = 0; unit < units; ++unit, picks += 1 << Level) {
        Lanes carry = count_up<Level, 0>(table, picks, counters);
        for (int j = 0; j < high; ++j) {
            const Lanes next = upper[j] & carry;
            upper[j] ^= carry;
            carry = next;
        }
        over |= carry;
    }
    return over;
}

inline bool any_near(Lanes far) {
#if STHASH_TERNARY
    return _mm512_cmpneq_epi64_mask((__m512i)far, _mm512_set1_epi64(-1)) != 0;
#else
    uint64_t all = ~uint64_t{0};
    for (int j = 0; j < kLanes; ++j) all &= far[j];
    return ~all != 0;
#endif
}

// Hands the near codes of a block to the sink; apart, so that the hot loop keeps its registers.
inline __attribute__((noinline)) void report(Lanes far, const uint64_t* block, uint32_t first, uint32_t size, size_t q,
                                             BatchQueries& batch, HitSink sink, void* context) {
    uint32_t offsets[kBlock], distances[kBlock];
    const int words = batch.words;
    const uint64_t* query = batch.queries + q * words;
    size_t found = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        for (uint64_t near = ~far[lane]; near != 0; near &= near - 1) {
            const uint32_t i = static_cast<uint32_t>(__builtin_ctzll(near)) * kLanes + lane;
            if (i >= size) continue;
            offsets[found] = first + i;
            distances[found++] = distance(block + static_cast<size_t>(i) * words, query, words);
        }
    if (found > 0) batch.set_limit(q, sink(context, q, offsets, distances, found));
}

template <int Level, bool OneUnit>
void scan_blocks(const uint64_t* codes, uint32_t count, BatchQueries& batch, HitSink sink, void* context) {
    Lanes* nodes = reinterpret_cast<Lanes*>(batch.scratch());
    Lanes* carries = nodes + batch.planes + batch.planes / 2;
    const uint64_t* table = reinterpret_cast<const uint64_t*>(carries);
    const int units = batch.units, high = batch.counter_bits - Level - 1;
    const unsigned planes = static_cast<unsigned>(batch.planes);
    const size_t queries = batch.count, picks_stride = planes / 2;
    for (uint32_t first = 0; first < count; first += kBlock) {
        const uint64_t* block = codes + static_cast<size_t>(first) * batch.words;
        const uint32_t size = std::min(kBlock, count - first);
        const int* limits = batch.limits.data();
        if (std::all_of(limits, limits + queries, [](int limit) { return limit < 0; })) return;
        build_carries(block, size, batch.words, batch.planes, nodes, carries);
        const uint16_t* picks = batch.picks_of(0);
        for (size_t q = 0; q < queries; ++q, picks += picks_stride) {
            Lanes far{};
            if (static_cast<unsigned>(limits[q]) < planes) {
                const uint64_t* seeds = batch.seeds_of(limits[q]);
                far = farther<Level, OneUnit>(table, picks, seeds, units, high);
                if (__builtin_expect(!any_near(far), 1)) continue;
            } else if (limits[q] < 0) {
                continue;
            }
            report(far, block, first, size, q, batch, sink, context);
        }
    }
}

inline void scan_batch(const uint64_t* codes, uint32_t count, BatchQueries& batch, HitSink sink, void* context) {
    if (batch.planes == 16)
        scan_blocks<3, true>(codes, count, batch, sink, context);
    else if (batch.planes == 32)
        scan_blocks<4, true>(codes, count, batch, sink, context);
    else if (batch.planes == 64)
        scan_blocks<5, true>(codes, count, batch, sink, context);
    else
        scan_blocks<5, false>(codes, count, batch, sink, context);
}
