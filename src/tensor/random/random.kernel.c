/* Uniform and normal draws, and dropout; see random.h. */
#ifndef T
#define ADZI_VMATH_SAME_BITS
#include <stdbool.h>
#include <string.h>
#include "tensor/random/random.h"
#include "tensor/kernel/vmath.h"

#define FROM_BITS VM(from_bits)

/* A word as a double: 2^52 + word, less 2^52. No instruction set below AVX-512 converts it. */
static inline double word_to_double(uint32_t word)
{
    return adzi_from_bits_f64(0x4330000000000000u | word) - 0x1p52;
}

/* The upper 53 of 64 bits, as an integer. */
static inline double top_53_bits(uint32_t high, uint32_t low)
{
    return (double)(int32_t)(high >> 11) * 0x1p32 + word_to_double(low);
}

/* sin and cos of pi/2 x for x in [-1/2, 1/2] */
static inline float adzi_quarter_sin_f32(float x, float z)
{
    return x * (((-0.00469148112f * z + 0.0797143057f) * z - 0.645966768f) * z + 1.57079637f);
}

static inline float adzi_quarter_cos_f32(float z)
{
    return (((0.000893572287f * z - 0.0208552536f) * z + 0.253668517f) * z - 1.23370051f) * z +
           1.0f;
}

static inline double adzi_quarter_sin_f64(double x, double z)
{
    double p = 7.43037296067521e-9 * z + 4.9822117118186694e-8;
    p = p * z - 3.5963976721598017e-6;
    p = p * z + 0.00016044076703656282;
    p = p * z - 0.0046817540986863037;
    p = p * z + 0.079692626244637382;
    p = p * z - 0.6459640975062223;
    return x * (p * z + 1.5707963267948966);
}

static inline double adzi_quarter_cos_f64(double z)
{
    double p = -4.0651909036892042e-10 * z - 5.9182577437177708e-9;
    p = p * z + 4.7089924825111169e-7;
    p = p * z - 2.5202003163718653e-5;
    p = p * z + 0.00091926027035079414;
    p = p * z - 0.020863480763078146;
    p = p * z + 0.25366950790104004;
    p = p * z - 1.2337005501361697;
    return p * z + 1.0;
}

/* The word nearest below a multiple of a quarter turn, and what is left of `turn`, which counts
 * 2^-32 turns. */
static inline uint32_t nearest_quadrant(uint32_t turn)
{
    return (turn + 0x20000000u) >> 30;
}

static inline int32_t within_quadrant(uint32_t turn, uint32_t quadrant)
{
    return (int32_t)(turn - (quadrant << 30));
}

#define THIS_FILE "tensor/random/random.kernel.c"
#include "tensor/kernel/each_float.h"
#else

#if T_IS_F32
#define BITS        uint32_t
#define SIGN_SHIFT  30
#define PER_GROUP   ADZI_GROUP_WORDS
#define SQUARE_ROOT sqrtf
#else
#define BITS        uint64_t
#define SIGN_SHIFT  62
#define PER_GROUP   ADZI_GROUP_DOUBLES
#define SQUARE_ROOT sqrt
#endif

/* Writes one whole group. */
typedef void K(fill_group)(T *restrict out, const void *args, uint64_t counter);

/* Elements [begin, end) of a draw, by whole groups; the ends by way of a buffer. */
static void K(draw)(
    K(fill_group) * fill, T *out, uint64_t offset, const void *args, int64_t begin, int64_t end)
{
    adzi_group_span span;
    for (int64_t i = begin; i < end; i = span.stop) {
        span = adzi_group_at(offset, i, end, PER_GROUP);
        if (span.stop - i == PER_GROUP) {
            fill(out + i, args, span.counter);
        } else {
            T buffer[PER_GROUP];
            fill(buffer, args, span.counter);
            memcpy(out + i, buffer + (i - span.start), (size_t)(span.stop - i) * sizeof(T));
        }
    }
}

/* [0, 1) at the resolution of the mantissa */
static inline void K(unit_uniform)(T *restrict u, uint32_t words[4][ADZI_PHILOX_GROUP])
{
#if T_IS_F32
    for (int w = 0; w < 4; ++w)
        for (int c = 0; c < ADZI_PHILOX_GROUP; ++c)
            u[w * ADZI_PHILOX_GROUP + c] = (float)(int32_t)(words[w][c] >> 8) * 0x1p-24f;
#else
    for (int w = 0; w < 2; ++w)
        for (int c = 0; c < ADZI_PHILOX_GROUP; ++c)
            u[w * ADZI_PHILOX_GROUP + c] =
                top_53_bits(words[2 * w][c], words[2 * w + 1][c]) * 0x1p-53;
#endif
}

static void K(fill_uniform)(T *restrict out, const void *opaque, uint64_t counter)
{
    const adzi_uniform_args *args = opaque;
    uint32_t words[4][ADZI_PHILOX_GROUP];
    adzi_philox_group(words, args->state->seed, counter);
    T u[PER_GROUP];
    K(unit_uniform)(u, words);
    T low = (T)args->low, high = (T)args->high;
    T width = high - low;
    for (int i = 0; i < PER_GROUP; ++i) {
        T y = low + width * u[i];
        out[i] = y < high ? y : low; /* the sum may round to high */
    }
}

void K(uniform)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_uniform_args *args = opaque;
    K(draw)(K(fill_uniform), args->out, args->state->offset, args, begin, end);
}

/* Two normals from u in (0, 1] and an angle: `within` of a quarter turn off `quadrant`. */
static inline void K(box_muller)(T *first, T *second, T u, uint32_t quadrant, T within)
{
    T radius = SQUARE_ROOT(R(-2) * VM(log)(u));
    T z = within * within;
    T s = VM(quarter_sin)(within, z);
    T c = VM(quarter_cos)(z);
    int odd = (int)(quadrant & 1);
    T sine = odd ? c : s;
    T cosine = odd ? s : c;
    BITS sine_sign = (BITS)(quadrant & 2) << SIGN_SHIFT;
    BITS cosine_sign = (BITS)((quadrant + 1) & 2) << SIGN_SHIFT;
    *first = radius * FROM_BITS(VM(bits)(cosine) ^ cosine_sign);
    *second = radius * FROM_BITS(VM(bits)(sine) ^ sine_sign);
}

static void K(fill_normal)(T *restrict out, const void *opaque, uint64_t counter)
{
    const adzi_normal_args *args = opaque;
    uint32_t words[4][ADZI_PHILOX_GROUP];
    adzi_philox_group(words, args->state->seed, counter);
    T mean = (T)args->mean, std = (T)args->std;
    for (int pair = 0; pair < PER_GROUP; pair += 2 * ADZI_PHILOX_GROUP) {
        T *restrict y = out + pair;
#if T_IS_F32
        const uint32_t *length = words[pair / ADZI_PHILOX_GROUP];
        const uint32_t *turn = words[pair / ADZI_PHILOX_GROUP + 1];
#else
        const uint32_t *turn = words[2];
#endif
        for (int c = 0; c < ADZI_PHILOX_GROUP; ++c) {
            uint32_t quadrant = nearest_quadrant(turn[c]);
            int32_t rest = within_quadrant(turn[c], quadrant);
#if T_IS_F32
            T u = ((float)(int32_t)(length[c] >> 1) + 0.5f) * 0x1p-31f;
            T within = (float)rest * 0x1p-30f;
#else
            T u = (top_53_bits(words[0][c], words[1][c]) + 0.5) * 0x1p-53;
            T within = ((double)rest * 0x1p32 + word_to_double(words[3][c])) * 0x1p-62;
#endif
            T first, second;
            K(box_muller)(&first, &second, u, quadrant, within);
            y[c] = mean + std * first;
            y[c + ADZI_PHILOX_GROUP] = mean + std * second;
        }
    }
}

void K(normal)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_normal_args *args = opaque;
    K(draw)(K(fill_normal), args->out, args->state->offset, args, begin, end);
}

/* y = x m over one whole group; bit k of kept says whether m is scale or 0. y may be x. */
static inline __attribute__((always_inline)) void K(drop_group)(
    T *y, const T *x, uint64_t kept, T scale)
{
#if defined(__AVX512F__) && T_IS_F32
    const __m512 all = _mm512_set1_ps(scale);
    for (int k = 0; k < ADZI_GROUP_WORDS; k += 16) {
        __m512 m = _mm512_maskz_mov_ps((__mmask16)(kept >> k), all);
        _mm512_storeu_ps(y + k, _mm512_mul_ps(_mm512_loadu_ps(x + k), m));
    }
#elif defined(__AVX512F__)
    const __m512d all = _mm512_set1_pd(scale);
    for (int k = 0; k < ADZI_GROUP_WORDS; k += 8) {
        __m512d m = _mm512_maskz_mov_pd((__mmask8)(kept >> k), all);
        _mm512_storeu_pd(y + k, _mm512_mul_pd(_mm512_loadu_pd(x + k), m));
    }
#else
    T dropped[ADZI_GROUP_WORDS]; /* a buffer of our own, so that x may be y */
    uint32_t half[2] = { (uint32_t)kept, (uint32_t)(kept >> 32) };
    for (int h = 0; h < 2; ++h)
        for (int k = 0; k < 32; ++k)
            dropped[h * 32 + k] = x[h * 32 + k] * (half[h] & (uint32_t)1 << k ? scale : R(0));
    memcpy(y, dropped, sizeof dropped);
#endif
}

/* The same over the group g of args, which may be short. A whole one has a length that the compiler
 * knows. */
static inline __attribute__((always_inline)) void K(drop)(
    const adzi_dropout_args *args, int64_t g, uint64_t kept, T scale, const bool whole)
{
    const T *x = (const T *)args->x + g * ADZI_GROUP_WORDS;
    T *y = (T *)args->y + g * ADZI_GROUP_WORDS;
    if (whole) {
        K(drop_group)(y, x, kept, scale);
        return;
    }
    int64_t rest = args->n - g * ADZI_GROUP_WORDS;
    for (int64_t k = 0; k < ADZI_GROUP_WORDS && k < rest; ++k)
        y[k] = x[k] * (kept >> k & 1 ? scale : R(0));
}

/* Draws the masks of the groups that share `pairs` groups of words, from the even group `first`
 * on, and applies those of groups [begin, end). */
static inline __attribute__((always_inline)) void K(draw_and_drop)(const adzi_dropout_args *args,
    adzi_keep_rule keep, const adzi_philox_keys *keys, int64_t first, const int pairs,
    int64_t begin, int64_t end, const bool whole)
{
    uint32_t words[ADZI_PHILOX_GROUPS][ADZI_GROUP_WORDS];
    uint64_t counter = adzi_keep_counter(args->state->offset, first);
    adzi_philox_groups((uint32_t(*)[4][ADZI_PHILOX_GROUP])words, pairs, keys, counter);
    for (int p = 0; p < pairs; ++p) {
        uint64_t at = counter + (uint64_t)p * ADZI_PHILOX_GROUP, kept[2];
        adzi_keep_pair(kept, words[p], args->state->seed, at, keep.last);
        for (int odd = 0; odd < 2; ++odd) {
            int64_t g = first + 2 * p + odd;
            if (!whole && (g < begin || g >= end))
                continue;
            bool full = whole || (g + 1) * ADZI_GROUP_WORDS <= args->n;
            K(drop)(args, g, kept[odd], (T)keep.value, full);
            if (args->kept != NULL)
                args->kept[g] = kept[odd];
        }
    }
}

/* The same bits in f64 as in f32, so that both dtypes drop the same elements. */
void K(dropout)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_dropout_args *args = opaque;
    adzi_keep_rule keep = adzi_keep_rule_of(args->keep, args->scale);
    const adzi_philox_keys keys = adzi_philox_keys_of(args->state->seed);
    int64_t whole = args->n / ADZI_GROUP_WORDS < end ? args->n / ADZI_GROUP_WORDS : end;
    for (int64_t g = begin; g < end;) {
        if (g % 2 == 0 && g + ADZI_KEEP_GROUPS <= whole) {
            K(draw_and_drop)(args, keep, &keys, g, ADZI_PHILOX_GROUPS, g, end, true);
            g += ADZI_KEEP_GROUPS;
        } else { /* at an end: a group whose neighbour is another's, or one that is short */
            int64_t first = g / 2 * 2;
            K(draw_and_drop)(args, keep, &keys, first, 1, g, end, false);
            g = first + 2;
        }
    }
}

void K(dropout_again)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_dropout_args *args = opaque;
    T scale = (T)adzi_keep_rule_of(args->keep, args->scale).value;
    int64_t whole = args->n / ADZI_GROUP_WORDS < end ? args->n / ADZI_GROUP_WORDS : end, g = begin;
    for (; g < whole; ++g)
        K(drop)(args, g, args->kept[g], scale, true);
    for (; g < end; ++g)
        K(drop)(args, g, args->kept[g], scale, false);
}

#undef BITS
#undef SIGN_SHIFT
#undef PER_GROUP
#undef SQUARE_ROOT

#endif
