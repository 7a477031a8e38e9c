// The kernels of weighted search for one SIMD path. No include guard: weighted_kernels.hpp includes this file once
// a path, with STHASH_LANES (64-bit lanes of a vector) set.

typedef uint64_t Lanes __attribute__((vector_size(STHASH_LANES * 8), may_alias));
constexpr int kLanes = STHASH_LANES;
constexpr uint32_t kGroup = 8 * kLanes;  // codes that are split together

#if STHASH_LANES == 8
constexpr int kPartBits = 6;
// The masked forms without a mask: of the plain ones GCC 12 warns that they use what was not set.
typedef __m512i Bytes;
inline Bytes load(const uint8_t* bytes) {
    return _mm512_load_si512(bytes);
}
inline Bytes load_table(const uint8_t* table) {
    return _mm512_load_si512(table);
}
inline Bytes look_up(Bytes table, Bytes parts) {  // by the lowest six bits of each
    return _mm512_maskz_permutexvar_epi8(~__mmask64{0}, parts, table);
}
inline Bytes add_saturating(Bytes a, Bytes b) {
    return _mm512_adds_epu8(a, b);
}
inline uint64_t at_most(Bytes sums, uint32_t limit) {
    return _mm512_cmple_epu8_mask(sums, _mm512_set1_epi8(static_cast<char>(limit)));
}
struct Sums {  // of two bytes each
    __m512i low, high;
    void add(Bytes bytes) {
        low = _mm512_add_epi16(low, _mm512_unpacklo_epi8(bytes, _mm512_setzero_si512()));
        high = _mm512_add_epi16(high, _mm512_unpackhi_epi8(bytes, _mm512_setzero_si512()));
    }
    uint64_t at_most(uint32_t limit) const {
        const __m512i most = _mm512_set1_epi16(static_cast<short>(limit));
        const __m512i over = _mm512_packus_epi16(_mm512_subs_epu16(low, most), _mm512_subs_epu16(high, most));
        return _mm512_testn_epi8_mask(over, over);
    }
};
#elif STHASH_LANES == 4
constexpr int kPartBits = 4;
typedef __m256i Bytes;
inline Bytes load(const uint8_t* bytes) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
}
inline Bytes load_table(const uint8_t* table) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}
inline Bytes look_up(Bytes table, Bytes parts) {
    return _mm256_shuffle_epi8(table, parts);
}
inline Bytes add_saturating(Bytes a, Bytes b) {
    return _mm256_adds_epu8(a, b);
}
inline uint64_t zeros(__m256i bytes) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())));
}
inline uint64_t at_most(Bytes sums, uint32_t limit) {
    return zeros(_mm256_subs_epu8(sums, _mm256_set1_epi8(static_cast<char>(limit))));
}
struct Sums {
    __m256i low, high;
    void add(Bytes bytes) {
        low = _mm256_add_epi16(low, _mm256_unpacklo_epi8(bytes, _mm256_setzero_si256()));
        high = _mm256_add_epi16(high, _mm256_unpackhi_epi8(bytes, _mm256_setzero_si256()));
    }
    uint64_t at_most(uint32_t limit) const {
        const __m256i most = _mm256_set1_epi16(static_cast<short>(limit));
        return zeros(_mm256_packus_epi16(_mm256_subs_epu16(low, most), _mm256_subs_epu16(high, most)));
    }
};
#else
constexpr int kPartBits = 8;
#endif
constexpr int kPartsOfWord = (64 + kPartBits - 1) / kPartBits;
constexpr uint32_t kTable = 1u << kPartBits;

// Swaps the upper part of each lane of `a` with the lower part of `b`.
inline __attribute__((always_inline)) void exchange(Lanes& a, Lanes& b, int shift, uint64_t low) {
    const Lanes swap = ((a >> shift) ^ b) & low;
    a ^= swap << shift;
    b ^= swap;
}

// Eight vectors of codes: afterwards byte i of lane j of vector b is byte b of lane j of the former vector i. Written
// out, so that all of them stay in registers.
inline __attribute__((always_inline)) void transpose_bytes(Lanes* rows) {
    constexpr uint64_t kHalf = 0x00000000FFFFFFFFu, kQuarter = 0x0000FFFF0000FFFFu, kByte = 0x00FF00FF00FF00FFu;
    exchange(rows[0], rows[4], 32, kHalf), exchange(rows[1], rows[5], 32, kHalf);
    exchange(rows[2], rows[6], 32, kHalf), exchange(rows[3], rows[7], 32, kHalf);
    exchange(rows[0], rows[2], 16, kQuarter), exchange(rows[1], rows[3], 16, kQuarter);
    exchange(rows[4], rows[6], 16, kQuarter), exchange(rows[5], rows[7], 16, kQuarter);
    exchange(rows[0], rows[1], 8, kByte), exchange(rows[2], rows[3], 8, kByte);
    exchange(rows[4], rows[5], 8, kByte), exchange(rows[6], rows[7], 8, kByte);
}

inline void store(uint8_t* planes, int part, Lanes bytes) {
    std::memcpy(planes + part * kGroup, &bytes, sizeof bytes);
}

// The parts of a word of kGroup codes, as the tables take them, one plane a part.
inline __attribute__((always_inline)) void split_word(const Lanes* rows, uint8_t* planes) {
    Lanes parts[8];
#if STHASH_LANES == 8
    // Multishift takes eight bytes of each lane from any bits on.
    const __m512i first = _mm512_set1_epi64(0x2A241E18120C0600), last = _mm512_set1_epi64(0x00000000003C3630);
    for (int i = 0; i < 8; ++i)
        parts[i] = (Lanes)_mm512_maskz_multishift_epi64_epi8(~__mmask64{0}, first, (__m512i)rows[i]);
    transpose_bytes(parts);
    for (int i = 0; i < 8; ++i) store(planes, i, parts[i]);
    for (int i = 0; i < 8; ++i)
        parts[i] = (Lanes)_mm512_maskz_multishift_epi64_epi8(~__mmask64{0}, last, (__m512i)rows[i]);
    transpose_bytes(parts);
    for (int i = 8; i < kPartsOfWord; ++i) store(planes, i, parts[i - 8]);
#else
    for (int i = 0; i < 8; ++i) parts[i] = rows[i];
    transpose_bytes(parts);
    for (int i = 0; i < 8; ++i) {
#if STHASH_LANES == 4
        const Lanes nibble = Lanes{} + 0x0F0F0F0F0F0F0F0Fu;
        store(planes, 2 * i, parts[i] & nibble);
        store(planes, 2 * i + 1, parts[i] >> 4 & nibble);
#else
        store(planes, i, parts[i]);
#endif
    }
#endif
}

// One word of a group of codes, `size` of which are there, `step` words from each other.
inline __attribute__((always_inline)) void load_word(const uint64_t* codes, uint32_t size, size_t step, Lanes* rows) {
    if (step == 1 && size == kGroup) {
        std::memcpy(rows, codes, 8 * sizeof(Lanes));
        return;
    }
#if STHASH_LANES == 8
    if (step == 2 && size == kGroup) {
        for (int i = 0; i < 8; ++i) {
            Lanes a, b{};
            std::memcpy(&a, codes + 16 * i, sizeof a);
            std::memcpy(&b, codes + 16 * i + 8, sizeof b - (i == 7 ? 8 : 0));  // the last word may not be there
            rows[i] = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
        }
        return;
    }
#endif
    uint64_t group[kGroup] = {};
    for (uint32_t i = 0; i < size; ++i) group[i] = codes[i * step];
    std::memcpy(rows, group, sizeof group);
}

// Splits codes, a group after the other; codes that the last group lacks are zero.
inline void split(const uint64_t* codes, uint32_t count, int words, uint8_t* planes) {
    const size_t step = static_cast<size_t>(words);
    for (uint32_t first = 0; first < count; first += kGroup)
        for (int w = 0; w < words; ++w, planes += kPartsOfWord * kGroup) {
            Lanes rows[8];
            load_word(codes + first * step + w, std::min(kGroup, count - first), step, rows);
            split_word(rows, planes);
        }
}

// Tables of lower bounds: what the bits of a part that differ from the query weigh, in units of 1 / `scale`, rounded
// down. Weights are padded with zeros to whole words.
inline void build_bounds(const uint64_t* query, const float* weights, int words, float scale, uint8_t* tables) {
    float sums[kTable];
    for (int w = 0; w < words; ++w)
        for (int part = 0; part < kPartsOfWord; ++part, tables += kTable) {
            sums[0] = 0;
            for (int b = 0; b < kPartBits; ++b) {
                const int bit = part * kPartBits + b;
                const float weight = bit < 64 ? weights[64 * w + bit] * scale : 0;
                const bool on = bit < 64 && (query[w] >> bit & 1);
                const float if_off = on ? weight : 0, if_on = on ? 0 : weight;
                for (uint32_t x = 0; x < (1u << b); ++x) {
                    sums[x + (1u << b)] = sums[x] + if_on;
                    sums[x] += if_off;
                }
            }
            for (uint32_t x = 0; x < kTable; ++x) tables[x] = static_cast<uint8_t>(std::min(sums[x], 255.0f));
        }
}

// The codes of split groups whose lower bound is at most `limit`, in any order.
#if STHASH_LANES > 2
inline size_t report(uint64_t near, size_t group, uint32_t* found) {
    size_t count = 0;
    for (; near != 0; near &= near - 1)
        found[count++] =
            static_cast<uint32_t>(group) * kGroup + code_at(static_cast<uint32_t>(__builtin_ctzll(near)), kLanes);
    return count;
}

// Bytes are wide enough for the sums of short codes; those of longer ones are gathered word by word.
template <bool Short>
size_t filter_some(const uint8_t* planes, size_t groups, int words, const uint8_t* tables, uint32_t limit,
                   uint32_t* found) {
    constexpr size_t kAtOnce = 4;
    const size_t stride = static_cast<size_t>(words) * kPartsOfWord * kGroup;
    size_t count = 0;
    for (size_t first = 0; first < groups; first += kAtOnce) {
        const uint8_t* group[kAtOnce];  // the last may be looked at more than once
        for (size_t v = 0; v < kAtOnce; ++v) group[v] = planes + std::min(first + v, groups - 1) * stride;
        Bytes sums[kAtOnce] = {};
        Sums wide[kAtOnce] = {};
        for (int part = 0; part < words * kPartsOfWord;) {
            for (const int end = Short ? words * kPartsOfWord : part + kPartsOfWord; part < end; ++part) {
                const Bytes table = load_table(tables + static_cast<size_t>(part) * kTable);
                for (size_t v = 0; v < kAtOnce; ++v)
                    sums[v] =
                        add_saturating(sums[v], look_up(table, load(group[v] + static_cast<size_t>(part) * kGroup)));
            }
            for (size_t v = 0; !Short && v < kAtOnce; ++v) {
                wide[v].add(sums[v]);
                sums[v] = Bytes{};
            }
        }
        for (size_t v = 0; v < kAtOnce && first + v < groups; ++v) {
            const uint64_t near = Short ? at_most(sums[v], limit) : wide[v].at_most(limit);
            if (near != 0) count += report(near, first + v, found + count);
        }
    }
    return count;
}

#if STHASH_LANES == 8
// With all tables in registers.
template <int Words, int Parts>
size_t filter_few(const uint8_t* planes, size_t groups, const uint8_t* tables, uint32_t limit, uint32_t* found) {
    Bytes table[Parts];
    for (int part = 0; part < Parts; ++part) table[part] = load_table(tables + part * kTable);
    size_t count = 0;
    for (size_t group = 0; group < groups; ++group, planes += Words * kPartsOfWord * kGroup) {
        Bytes sums = look_up(table[0], load(planes));
        for (int part = 1; part < Parts; ++part)
            sums = add_saturating(sums, look_up(table[part], load(planes + part * kGroup)));
        const uint64_t near = at_most(sums, limit);
        if (__builtin_expect(near != 0, 0)) count += report(near, group, found + count);
    }
    return count;
}
#endif

inline size_t filter(const uint8_t* planes, size_t groups, int n_bits, const uint8_t* tables, uint32_t limit,
                     uint32_t* found) {
    const int words = (n_bits + 63) / 64;
#if STHASH_LANES == 8
    if (n_bits <= 3 * kPartBits) return filter_few<1, 3>(planes, groups, tables, limit, found);
    if (n_bits <= 6 * kPartBits) return filter_few<1, 6>(planes, groups, tables, limit, found);
    if (words == 1) return filter_few<1, kPartsOfWord>(planes, groups, tables, limit, found);
    if (words == 2) return filter_few<2, 2 * kPartsOfWord>(planes, groups, tables, limit, found);
#endif
    return words <= kShort ? filter_some<true>(planes, groups, words, tables, limit, found)
                           : filter_some<false>(planes, groups, words, tables, limit, found);
}
#else
inline size_t filter(const uint8_t* planes, size_t groups, int n_bits, const uint8_t* tables, uint32_t limit,
                     uint32_t* found) {
    const int words = (n_bits + 63) / 64;
    size_t count = 0;
    for (size_t group = 0; group < groups; ++group, planes += words * kPartsOfWord * kGroup) {
        uint32_t sums[kGroup] = {};
        for (int part = 0; part < (n_bits + kPartBits - 1) / kPartBits; ++part)
            for (uint32_t i = 0; i < kGroup; ++i) sums[i] += tables[part * kTable + planes[part * kGroup + i]];
        for (uint32_t i = 0; i < kGroup; ++i)
            if (sums[i] <= limit) found[count++] = static_cast<uint32_t>(group) * kGroup + code_at(i, kLanes);
    }
    return count;
}
#endif

// The codes of split groups whose sum of whole weights, at most 255 for the bits of a word, is at most `limit`, in any
// order, and these sums.
inline size_t add_up(const uint8_t* planes, size_t groups, int words, const uint8_t* tables, uint32_t limit,
                     uint32_t* found, uint32_t* sums) {
    size_t count = 0;
    for (size_t group = 0; group < groups; ++group) {
        const uint8_t* table = tables;
        uint16_t total[kGroup] = {};
        for (int w = 0; w < words; ++w) {
#if STHASH_LANES > 2
            Bytes bytes{};
            for (int part = 0; part < kPartsOfWord; ++part, table += kTable, planes += kGroup)
                bytes = add_saturating(bytes, look_up(load_table(table), load(planes)));
            uint8_t of_word[kGroup];
            std::memcpy(of_word, &bytes, sizeof bytes);
            for (uint32_t i = 0; i < kGroup; ++i) total[i] = static_cast<uint16_t>(total[i] + of_word[i]);
#else
            for (int part = 0; part < kPartsOfWord; ++part, table += kTable, planes += kGroup)
                for (uint32_t i = 0; i < kGroup; ++i) total[i] = static_cast<uint16_t>(total[i] + table[planes[i]]);
#endif
        }
        uint8_t within[kGroup];  // 0 or 1
        for (uint32_t i = 0; i < kGroup; ++i) within[i] = total[i] <= limit;
        for (uint32_t first = 0; first < kGroup; first += 8) {
            uint64_t near;
            std::memcpy(&near, within + first, sizeof near);
            for (; near != 0; near &= near - 1) {
                const uint32_t place = first + static_cast<uint32_t>(__builtin_ctzll(near)) / 8;
                found[count] = static_cast<uint32_t>(group) * kGroup + code_at(place, kLanes);
                sums[count++] = total[place];
            }
        }
    }
    return count;
}

// The exact distances of some codes in a row, as weigh_one gives them.
inline void weigh(const uint64_t* codes, size_t count, int words, int quads, const float* tables, float* distances) {
    size_t i = 0;
#if STHASH_LANES == 8
    // The halves of 16 words, whose lowest four bits are what the tables are looked up by.
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    for (; i + 16 <= count; i += 16) {
        __m512 sums[4] = {};
        const uint64_t* some = codes + i * words;
        for (int half = 0; 2 * half < quads; ++half) {
            uint64_t word[16];
            for (int j = 0; words > 1 && j < 16; ++j) word[j] = some[j * words + half / 2];
            const uint64_t* from = words > 1 ? word : some;
            __m512i bits = _mm512_permutex2var_epi32(_mm512_loadu_si512(from), half % 2 ? odd : even,
                                                     _mm512_loadu_si512(from + 8));
            for (int n = 8 * half; n < std::min(8 * half + 8, 4 * quads); n += 4)
                for (int lane = 0; lane < 4; ++lane) {
                    sums[lane] += _mm512_maskz_permutexvar_ps(0xFFFF, bits, _mm512_loadu_ps(tables + 16 * (n + lane)));
                    bits = (__m512i)((Lanes)bits >> 4);
                }
        }
        _mm512_storeu_ps(distances + i, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
#endif
    for (; i < count; ++i) distances[i] = weigh_one(codes + i * words, quads, tables);
}
