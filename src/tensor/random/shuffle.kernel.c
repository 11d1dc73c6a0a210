/* Rows of an order (shuffle.h), many at a time. A unit is one row.
 *
 * A lane is 64 bits wide and holds one half of a position in its lower 32 bits. The multiplication
 * of 32 by 32 bits ignores the upper bits, so Philox needs no masks (philox.h). VECTORS vectors go
 * through the rounds side by side, because each round waits for the one before it. Without vectors
 * one lane at a time is fastest.
 */
#include "tensor/random/shuffle.h"

#include "base/isa.h"
#include "tensor/kernel/registers.h"

#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512i lanes;
enum { VECTORS = 4 };
#define SPLAT(x)       _mm512_set1_epi64((long long)(x))
#define LOAD(p)        _mm512_loadu_si512(p)
#define STORE(p, v)    _mm512_storeu_si512(p, v)
#define MULTIPLY(a, b) _mm512_mul_epu32(a, b)
#define ADD(a, b)      _mm512_add_epi64(a, b)
#define XOR(a, b, c)   _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define UPPER(a)       _mm512_srli_epi64(a, 32)
#define REDUCE(a, n)   _mm512_min_epu32(a, _mm512_sub_epi32(a, n))
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256i lanes;
enum { VECTORS = 4 };
#define SPLAT(x)       _mm256_set1_epi64x((long long)(x))
#define LOAD(p)        _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v)    _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define MULTIPLY(a, b) _mm256_mul_epu32(a, b)
#define ADD(a, b)      _mm256_add_epi64(a, b)
#define XOR(a, b, c)   _mm256_xor_si256(_mm256_xor_si256(a, b), c)
#define UPPER(a)       _mm256_srli_epi64(a, 32)
#define REDUCE(a, n)   _mm256_min_epu32(a, _mm256_sub_epi32(a, n))
#elif defined(ADZI_NEON)
typedef uint64x2_t lanes;
enum { VECTORS = 4 };
#define SPLAT(x)       vdupq_n_u64(x)
#define LOAD(p)        vld1q_u64(p)
#define STORE(p, v)    vst1q_u64(p, v)
#define MULTIPLY(a, b) vmull_u32(vmovn_u64(a), vmovn_u64(b))
#define ADD(a, b)      vaddq_u64(a, b)
#define XOR(a, b, c)   veorq_u64(veorq_u64(a, b), c)
#define UPPER(a)       vshrq_n_u64(a, 32)
#define WORDS(a)       vreinterpretq_u32_u64(a)
#define REDUCE(a, n)   vreinterpretq_u64_u32(vminq_u32(WORDS(a), vsubq_u32(WORDS(a), WORDS(n))))
#else
typedef uint64_t lanes;
enum { VECTORS = 1 };
#define SPLAT(x)       ((uint64_t)(x))
#define LOAD(p)        (*(p))
#define STORE(p, v)    (*(p) = (v))
#define MULTIPLY(a, b) ((uint64_t)(uint32_t)(a) * (uint32_t)(b))
#define ADD(a, b)      ((a) + (b))
#define XOR(a, b, c)   ((a) ^ (b) ^ (c))
#define UPPER(a)       ((a) >> 32)
#define REDUCE(a, n)   ((a) >= (n) ? (a) - (n) : (a))
#endif

enum { LANES = (int)(sizeof(lanes) / sizeof(uint64_t)), BLOCK = VECTORS * LANES };

/* One round: half = (half + floor(F(other) size / 2^32)) mod size. REDUCE is the modulus of a sum
 * of two numbers below n: the smaller one of the sum and of the sum minus n, which wraps around to
 * a large number if the sum is below n. */
static inline __attribute__((always_inline)) void round_of(
    lanes *half, const lanes *other, const uint32_t *key, uint32_t size)
{
    lanes x[VECTORS], second[VECTORS];
    uint32_t k = key[0];
    for (int v = 0; v < VECTORS; ++v) {
        x[v] = other[v];
        second[v] = SPLAT(key[1]);
    }
    for (int round = 0; round < ADZI_PHILOX2_ROUNDS; ++round) {
        for (int v = 0; v < VECTORS; ++v) {
            lanes product = MULTIPLY(x[v], SPLAT(ADZI_PHILOX2_MULTIPLIER));
            x[v] = XOR(UPPER(product), second[v], SPLAT(k));
            second[v] = product;
        }
        k += ADZI_PHILOX2_WEYL;
    }
    for (int v = 0; v < VECTORS; ++v) {
        lanes sum = ADD(half[v], UPPER(MULTIPLY(x[v], SPLAT(size))));
        half[v] = REDUCE(sum, SPLAT(size));
    }
}

/* What the cipher gives for BLOCK positions from (left, right) on. Positions past the end of the
 * order give numbers that nobody reads. */
static void encipher_block(const adzi_shuffle *order, uint64_t left, uint64_t right, uint64_t *rows)
{
    uint64_t start[2][BLOCK];
    lanes halves[2][VECTORS];
    for (int i = 0; i < BLOCK; ++i) {
        start[0][i] = left;
        start[1][i] = right;
        bool wraps = ++right == order->sizes[1];
        left += wraps;
        right = wraps ? 0 : right;
    }
    for (int v = 0; v < VECTORS; ++v) {
        halves[0][v] = LOAD(start[0] + v * LANES);
        halves[1][v] = LOAD(start[1] + v * LANES);
    }
    for (int r = 0; r < ADZI_SHUFFLE_ROUNDS; r += 2) {
        round_of(halves[0], halves[1], order->keys[r], order->sizes[0]);
        round_of(halves[1], halves[0], order->keys[r + 1], order->sizes[1]);
    }
    for (int v = 0; v < VECTORS; ++v) {
        STORE(rows + v * LANES, ADD(MULTIPLY(halves[0][v], SPLAT(order->sizes[1])), halves[1][v]));
    }
}

void KERNEL_OF(shuffle, any)(const void *block, int64_t begin, int64_t end);
void KERNEL_OF(shuffle, any)(const void *block, int64_t begin, int64_t end)
{
    const adzi_shuffle_args *a = block;
    const adzi_shuffle *order = &a->order;
    if (order->n <= ADZI_SHUFFLE_TABLE) {
        for (int64_t i = begin; i < end; ++i) {
            a->rows[i] = order->table[a->begin + i];
        }
        return;
    }
    for (int64_t i = begin; i < end; i += BLOCK) {
        uint64_t rows[BLOCK], position = (uint64_t)(a->begin + i), b = order->sizes[1];
        int64_t n = end - i < BLOCK ? end - i : BLOCK;
        encipher_block(order, position / b, position % b, rows);
        for (int64_t k = 0; k < n; ++k) {
            a->rows[i + k] = adzi_shuffle_walk(order, rows[k]);
        }
    }
}
