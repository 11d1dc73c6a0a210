/* Philox 4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
 * as easy as 1, 2, 3", SC 2011). A 128-bit counter and a 64-bit key give four random words. No
 * state passes from one counter to the next.
 *
 * Kernels draw sixteen counters at a time. Word w of counter c is at words[w][c], an order that
 * vector registers of any width produce without a shuffle. All instruction sets give the same bits.
 */
#ifndef ADZI_TENSOR_RANDOM_PHILOX_H
#define ADZI_TENSOR_RANDOM_PHILOX_H

#include <stdint.h>

#include "tensor/kernel/registers.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* The number of counters in a group, and the number of groups that are drawn together. */
enum { ADZI_PHILOX_GROUP = 16, ADZI_PHILOX_GROUPS = 2 };

#define ADZI_PHILOX_MULTIPLIER_0 0xD2511F53u
#define ADZI_PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define ADZI_PHILOX_WEYL_0       0x9E3779B9u
#define ADZI_PHILOX_WEYL_1       0xBB67AE85u
enum { ADZI_PHILOX_ROUNDS = 10 };

/** The four words of one counter, for any counter and key: words[4], counter[4], key[2]. */
static inline void adzi_philox(uint32_t *words, const uint32_t *counter, const uint32_t *key)
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ADZI_PHILOX_ROUNDS; ++round) {
        uint64_t p0 = (uint64_t)x0 * ADZI_PHILOX_MULTIPLIER_0;
        uint64_t p1 = (uint64_t)x2 * ADZI_PHILOX_MULTIPLIER_1;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)p1;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)p0;
        k0 += ADZI_PHILOX_WEYL_0;
        k1 += ADZI_PHILOX_WEYL_1;
    }
    words[0] = x0;
    words[1] = x1;
    words[2] = x2;
    words[3] = x3;
}

/** The two keys of every round. Each has 64 bits, so that a vector instruction can load it to all
 * lanes. */
typedef struct adzi_philox_keys {
    uint64_t round[ADZI_PHILOX_ROUNDS][2];
} adzi_philox_keys;

/** The keys of the rounds for a seed, which is the key of the first round. */

static inline adzi_philox_keys adzi_philox_keys_of(uint64_t seed)
{
    adzi_philox_keys keys;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < ADZI_PHILOX_ROUNDS; ++round) {
        keys.round[round][0] = k0;
        keys.round[round][1] = k1;
        k0 += ADZI_PHILOX_WEYL_0;
        k1 += ADZI_PHILOX_WEYL_1;
    }
    return keys;
}

/* adzi_philox_groups(words, groups, keys, first) computes the words of 16 * groups counters from
 * `first` on. The upper 64 bits of the counters are 0. Two groups together take a fifth less time
 * than one after the other, because their multiplications overlap.
 *
 * With vectors of AVX, each 64-bit lane holds one counter's word in its lower half. The
 * multiplication of 32 by 32 bits ignores the upper half, which may hold anything. A round
 * therefore needs neither masks nor shuffles. One register holds even counters and another odd
 * ones. A shift and a blend at the end put them side by side. gcc does not find this form: plain
 * loops take ten times as long.
 *
 * NEON multiplies lanes of 32 bits, two at a time, so a register holds a word of four counters. The
 * halves of the four products are then collected from two registers.
 */
#if defined(__AVX512F__)

static inline __m512i adzi_philox_mix_512(__m512i product, __m512i word, __m512i key)
{
    enum { XOR_OF_THREE = 0x96 };
    return _mm512_ternarylogic_epi64(_mm512_srli_epi64(product, 32), word, key, XOR_OF_THREE);
}

static inline __attribute__((always_inline)) void adzi_philox_groups(
    uint32_t (*words)[4][ADZI_PHILOX_GROUP], int groups, const adzi_philox_keys *keys,
    uint64_t first)
{
    const __m512i m0 = _mm512_set1_epi64(ADZI_PHILOX_MULTIPLIER_0);
    const __m512i m1 = _mm512_set1_epi64(ADZI_PHILOX_MULTIPLIER_1);
    const __m512i steps = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    __m512i x[4][2 * ADZI_PHILOX_GROUPS];
    for (int h = 0; h < 2 * groups; ++h) {
        uint64_t counter = first + (uint64_t)(h / 2 * ADZI_PHILOX_GROUP + h % 2);
        x[0][h] = _mm512_add_epi64(_mm512_set1_epi64((long long)counter), steps);
        x[1][h] = _mm512_srli_epi64(x[0][h], 32);
        x[2][h] = x[3][h] = _mm512_setzero_si512();
    }
    for (int round = 0; round < ADZI_PHILOX_ROUNDS; ++round) {
        __m512i key0 = _mm512_set1_epi64((long long)keys->round[round][0]);
        __m512i key1 = _mm512_set1_epi64((long long)keys->round[round][1]);
        for (int h = 0; h < 2 * groups; ++h) {
            __m512i p0 = _mm512_mul_epu32(x[0][h], m0);
            __m512i p1 = _mm512_mul_epu32(x[2][h], m1);
            x[0][h] = adzi_philox_mix_512(p1, x[1][h], key0);
            x[1][h] = p1;
            x[2][h] = adzi_philox_mix_512(p0, x[3][h], key1);
            x[3][h] = p0;
        }
    }
    for (int g = 0; g < groups; ++g)
        for (int w = 0; w < 4; ++w)
            _mm512_storeu_si512(words[g][w], _mm512_mask_blend_epi32(0xAAAA, x[w][2 * g],
                                                 _mm512_slli_epi64(x[w][2 * g + 1], 32)));
}

#elif defined(__AVX2__)

static inline __m256i adzi_philox_mix_256(__m256i product, __m256i word, __m256i key)
{
    return _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product, 32), word), key);
}

static inline void adzi_philox_groups(uint32_t (*words)[4][ADZI_PHILOX_GROUP], int groups,
    const adzi_philox_keys *keys, uint64_t first)
{
    const __m256i m0 = _mm256_set1_epi64x(ADZI_PHILOX_MULTIPLIER_0);
    const __m256i m1 = _mm256_set1_epi64x(ADZI_PHILOX_MULTIPLIER_1);
    for (int half = 0; half < 2 * groups; ++half) {
        __m256i even = _mm256_add_epi64(_mm256_set1_epi64x((long long)(first + 8 * (uint64_t)half)),
            _mm256_set_epi64x(6, 4, 2, 0));
        __m256i odd = _mm256_add_epi64(even, _mm256_set1_epi64x(1));
        __m256i x[4][2] = { { even, odd },
            { _mm256_srli_epi64(even, 32), _mm256_srli_epi64(odd, 32) },
            { _mm256_setzero_si256(), _mm256_setzero_si256() },
            { _mm256_setzero_si256(), _mm256_setzero_si256() } };
        for (int round = 0; round < ADZI_PHILOX_ROUNDS; ++round) {
            __m256i key0 = _mm256_set1_epi64x((long long)keys->round[round][0]);
            __m256i key1 = _mm256_set1_epi64x((long long)keys->round[round][1]);
            for (int h = 0; h < 2; ++h) {
                __m256i p0 = _mm256_mul_epu32(x[0][h], m0);
                __m256i p1 = _mm256_mul_epu32(x[2][h], m1);
                x[0][h] = adzi_philox_mix_256(p1, x[1][h], key0);
                x[1][h] = p1;
                x[2][h] = adzi_philox_mix_256(p0, x[3][h], key1);
                x[3][h] = p0;
            }
        }
        for (int w = 0; w < 4; ++w)
            _mm256_storeu_si256((__m256i *)(void *)&words[half / 2][w][half % 2 * 8],
                _mm256_blend_epi32(x[w][0], _mm256_slli_epi64(x[w][1], 32), 0xAA));
    }
}

#elif defined(ADZI_NEON)

/* The lower and the upper halves of four lanes of 64 bits. */
#define ADZI_LOWER(a, b) vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b))
#define ADZI_UPPER(a, b) vuzp2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b))

static inline void adzi_philox_groups(uint32_t (*words)[4][ADZI_PHILOX_GROUP], int groups,
    const adzi_philox_keys *keys, uint64_t first)
{
    const uint32x2_t m =
        vset_lane_u32(ADZI_PHILOX_MULTIPLIER_1, vdup_n_u32(ADZI_PHILOX_MULTIPLIER_0), 1);
    const uint64x2_t steps = vsetq_lane_u64(1, vdupq_n_u64(0), 1);
    for (int g = 0; g < groups; ++g) {
        uint32x4_t x[4][4];
        ADZI_UNROLLED_FOR(int v = 0; v < 4; ++v)
        {
            const uint64x2_t at = vaddq_u64(vdupq_n_u64(first), steps), two = vdupq_n_u64(2);
            x[0][v] = ADZI_LOWER(at, vaddq_u64(at, two));
            x[1][v] = ADZI_UPPER(at, vaddq_u64(at, two));
            x[2][v] = x[3][v] = vdupq_n_u32(0);
            first += 4;
        }
        for (int round = 0; round < ADZI_PHILOX_ROUNDS; ++round) {
            const uint32x4_t key0 = vdupq_n_u32((uint32_t)keys->round[round][0]);
            const uint32x4_t key1 = vdupq_n_u32((uint32_t)keys->round[round][1]);
            ADZI_UNROLLED_FOR(int v = 0; v < 4; ++v)
            {
                const uint64x2_t a = vmull_lane_u32(vget_low_u32(x[0][v]), m, 0);
                const uint64x2_t b = vmull_high_lane_u32(x[0][v], m, 0);
                const uint64x2_t c = vmull_lane_u32(vget_low_u32(x[2][v]), m, 1);
                const uint64x2_t d = vmull_high_lane_u32(x[2][v], m, 1);
                x[0][v] = veorq_u32(veorq_u32(ADZI_UPPER(c, d), x[1][v]), key0);
                x[1][v] = ADZI_LOWER(c, d);
                x[2][v] = veorq_u32(veorq_u32(ADZI_UPPER(a, b), x[3][v]), key1);
                x[3][v] = ADZI_LOWER(a, b);
            }
        }
        ADZI_UNROLLED_FOR(int v = 0; v < 16; ++v)
        {
            vst1q_u32(words[g][v % 4] + v / 4 * 4, x[v % 4][v / 4]);
        }
    }
}

#else

static inline void adzi_philox_groups(uint32_t (*words)[4][ADZI_PHILOX_GROUP], int groups,
    const adzi_philox_keys *keys, uint64_t first)
{
    const uint32_t key[2] = { (uint32_t)keys->round[0][0], (uint32_t)keys->round[0][1] };
    for (int c = 0; c < groups * ADZI_PHILOX_GROUP; ++c) {
        uint64_t at = first + (uint64_t)c;
        const uint32_t counter[4] = { (uint32_t)at, (uint32_t)(at >> 32), 0, 0 };
        uint32_t out[4];
        adzi_philox(out, counter, key);
        for (int w = 0; w < 4; ++w)
            words[c / ADZI_PHILOX_GROUP][w][c % ADZI_PHILOX_GROUP] = out[w];
    }
}

#endif

#ifdef ADZI_NEON
/* Bits of `below` and `equal` for sixteen words, one in each byte. */
static inline __attribute__((always_inline)) uint8x16x2_t adzi_compare_sixteen(
    const uint32_t *words, uint16x8_t half, const int shift)
{
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    uint16x8_t at[2];
    for (int i = 0; i < 2; ++i) {
        const uint16x8_t a = vreinterpretq_u16_u32(vld1q_u32(words + 8 * i));
        const uint16x8_t b = vreinterpretq_u16_u32(vld1q_u32(words + 8 * i + 4));
        at[i] = shift > 0 ? vuzp2q_u16(a, b) : vuzp1q_u16(a, b);
    }
#define ADZI_BITS(test)                                               \
    vandq_u8(bits, vuzp1q_u8(vreinterpretq_u8_u16(test(at[0], half)), \
                       vreinterpretq_u8_u16(test(at[1], half))))
    return (uint8x16x2_t){ { ADZI_BITS(vcltq_u16), ADZI_BITS(vceqq_u16) } };
#undef ADZI_BITS
}
#endif

/** Compares the upper halves (shift 16) or the lower halves (shift 0) of 64 words with `half`. Bit
 * k of `below` says whether that of words[k] is smaller, bit k of `equal` whether it is equal. */
static inline __attribute__((always_inline)) void adzi_compare_halves(
    uint64_t *below, uint64_t *equal, const uint32_t *words, uint32_t half, const int shift)
{
    *below = *equal = 0;
#if defined(__AVX512F__)
    const __m512i other = _mm512_set1_epi32((int)half), lower = _mm512_set1_epi32(0xffff);
    for (int k = 0; k < 64; k += 16) {
        __m512i at = _mm512_loadu_si512(words + k);
        at = shift > 0 ? _mm512_srli_epi32(at, 16) : _mm512_and_si512(at, lower);
        *below |= (uint64_t)_mm512_cmplt_epi32_mask(at, other) << k;
        *equal |= (uint64_t)_mm512_cmpeq_epi32_mask(at, other) << k;
    }
#elif defined(__AVX2__)
    const __m256i other = _mm256_set1_epi32((int)half), lower = _mm256_set1_epi32(0xffff);
    for (int k = 0; k < 64; k += 8) {
        __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(words + k));
        at = shift > 0 ? _mm256_srli_epi32(at, 16) : _mm256_and_si256(at, lower);
        int less = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(other, at)));
        int same = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(other, at)));
        *below |= (uint64_t)(unsigned)less << k;
        *equal |= (uint64_t)(unsigned)same << k;
    }
#elif defined(ADZI_NEON)
    /* Eight neighbouring bytes have different bits, so adding them up joins the bits. */
    const uint16x8_t other = vdupq_n_u16((uint16_t)half);
    const uint8x16x2_t a = adzi_compare_sixteen(words, other, shift);
    const uint8x16x2_t b = adzi_compare_sixteen(words + 16, other, shift);
    const uint8x16x2_t c = adzi_compare_sixteen(words + 32, other, shift);
    const uint8x16x2_t d = adzi_compare_sixteen(words + 48, other, shift);
    for (int i = 0; i < 2; ++i) {
        uint8x16_t sums = vpaddq_u8(vpaddq_u8(a.val[i], b.val[i]), vpaddq_u8(c.val[i], d.val[i]));
        sums = vpaddq_u8(sums, sums);
        *(i == 0 ? below : equal) = vgetq_lane_u64(vreinterpretq_u64_u8(sums), 0);
    }
#else
    for (int k = 0; k < 64; ++k) {
        uint32_t at = words[k] >> shift & 0xffff;
        *below |= (uint64_t)(at < half) << k;
        *equal |= (uint64_t)(at == half) << k;
    }
#endif
}

/** Computes the words of one group of counters, from `first` on, with the key `seed`. */
static inline void adzi_philox_group(
    uint32_t words[4][ADZI_PHILOX_GROUP], uint64_t seed, uint64_t first)
{
    const adzi_philox_keys keys = adzi_philox_keys_of(seed);
    adzi_philox_groups((uint32_t(*)[4][ADZI_PHILOX_GROUP])words, 1, &keys, first);
}

#endif
