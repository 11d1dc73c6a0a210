/* Kernels of uniform and normal draws and of dropout, from Philox's random words; see random.h.
 *
 *     uniform  y = low + (high - low) u,   u in [0, 1)
 *     normal   y = mean + std sqrt(-2 log u) cos or sin(2 pi v),   u in (0, 1]
 *     dropout  y = x * scale where a random bit keeps the element, else x * 0
 *
 * Normals are computed by the method of Box and Muller (1958).
 *
 * Philox computes a group of words from a counter and a seed, without a state that passes from one
 * group to the next. The position of an element gives the group that it is made from. So the values
 * do not depend on how elements are cut for threads. A unit is one element of a draw, or
 * one group of ADZI_GROUP_WORDS elements of a dropout. Whole groups are written in place; the ends
 * of a part of the launch go through a buffer of one group.
 *
 * ADZI_VMATH_SAME_BITS leaves fused multiply-adds out, so every instruction set gives the same
 * bits.
 */
#ifndef elem
#define ADZI_VMATH_SAME_BITS
#include <stdbool.h>
#include <string.h>
#include "tensor/random/random.h"
#include "tensor/kernel/vmath.h"

/* The float with these bits, in the type of the instance. */
#define FROM_BITS VMATH(from_bits)

/* `turn` is an angle in units of 2^-32 turns. nearest_quadrant is the nearest multiple of a quarter
 * turn (0 .. 3, modulo 4), and within_quadrant the signed rest of the angle. */
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

/* BITS is an integer as wide as elem. SIGN_SHIFT moves bit 1 to its sign bit. PER_GROUP is the
 * number of elements that one group of words gives. */
#if ELEM_IS_F32
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

/* sin(pi/2 x) and cos(pi/2 x) for x in [-1/2, 1/2], with z = x^2: minimax polynomials. */
#if ELEM_IS_F32
static inline float KERNEL(quarter_sin)(float x, float z)
{
    return x * (((-0.00469148112f * z + 0.0797143057f) * z - 0.645966768f) * z + 1.57079637f);
}

static inline float KERNEL(quarter_cos)(float z)
{
    return (((0.000893572287f * z - 0.0208552536f) * z + 0.253668517f) * z - 1.23370051f) * z +
           1.0f;
}

#else
static inline double KERNEL(quarter_sin)(double x, double z)
{
    double p = 7.43037296067521e-9 * z + 4.9822117118186694e-8;
    p = p * z - 3.5963976721598017e-6;
    p = p * z + 0.00016044076703656282;
    p = p * z - 0.0046817540986863037;
    p = p * z + 0.079692626244637382;
    p = p * z - 0.6459640975062223;
    return x * (p * z + 1.5707963267948966);
}

static inline double KERNEL(quarter_cos)(double z)
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

/* A word as a double, which is exact: the bits of 2^52 + word, minus 2^52. Instruction sets below
 * AVX-512 have no conversion of unsigned words. */
static inline double word_to_double(uint32_t word)
{
    return adzi_from_bits_f64(0x4330000000000000u | word) - 0x1p52;
}

/* The upper 53 of 64 bits as a double, which is exact. */
static inline double top_53_bits(uint32_t high, uint32_t low)
{
    return (double)(int32_t)(high >> 11) * 0x1p32 + word_to_double(low);
}
#endif

/* A function that writes the elements of one whole group. */
typedef void KERNEL(fill_group)(elem *restrict out, const void *args, uint64_t counter);

/* Writes elements begin .. end - 1 of a draw that begins at word `offset`. Whole groups are written
 * in place; a partial group is written to a buffer first. */
static void KERNEL(draw)(KERNEL(fill_group) * fill, elem *out, uint64_t offset, const void *args,
    int64_t begin, int64_t end)
{
    adzi_group_span span;
    for (int64_t i = begin; i < end; i = span.stop) {
        span = adzi_group_at(offset, i, end, PER_GROUP);
        if (span.stop - i == PER_GROUP) {
            fill(out + i, args, span.counter);
        } else {
            elem buffer[PER_GROUP];
            fill(buffer, args, span.counter);
            memcpy(out + i, buffer + (i - span.start), (size_t)(span.stop - i) * sizeof(elem));
        }
    }
}

/* Numbers in [0, 1), multiples of 2^-24 in f32 and of 2^-53 in f64: as many bits as the mantissa
 * has. */
static inline void KERNEL(unit_uniform)(elem *restrict u, uint32_t words[4][ADZI_PHILOX_GROUP])
{
#if ELEM_IS_F32
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

static void KERNEL(fill_uniform)(elem *restrict out, const void *opaque, uint64_t counter)
{
    const adzi_uniform_args *args = opaque;
    uint32_t words[4][ADZI_PHILOX_GROUP];
    adzi_philox_group(words, args->state->seed, counter);
    elem u[PER_GROUP];
    KERNEL(unit_uniform)(u, words);
    elem low = (elem)args->low, high = (elem)args->high;
    elem width = high - low;
    for (int i = 0; i < PER_GROUP; ++i) {
        elem y = low + width * u[i];
        out[i] = y < high ? y : low; /* the sum may round to high */
    }
}

void KERNEL(uniform)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_uniform_args *args = opaque;
    KERNEL(draw)(KERNEL(fill_uniform), args->out, args->state->offset, args, begin, end);
}

/* Two independent normals: the radius sqrt(-2 log u), u in (0, 1], times cosine and sine of the
 * angle (quadrant + within) quarter turns. Odd quadrants exchange sine and cosine; signs are set as
 * bits. */
static inline void KERNEL(box_muller)(
    elem *first, elem *second, elem u, uint32_t quadrant, elem within)
{
    elem radius = SQUARE_ROOT(ELEM(-2) * VMATH(log)(u));
    elem z = within * within;
    elem s = KERNEL(quarter_sin)(within, z);
    elem c = KERNEL(quarter_cos)(z);
    int odd = (int)(quadrant & 1);
    elem sine = odd ? c : s;
    elem cosine = odd ? s : c;
    BITS sine_sign = (BITS)(quadrant & 2) << SIGN_SHIFT;
    BITS cosine_sign = (BITS)((quadrant + 1) & 2) << SIGN_SHIFT;
    *first = radius * FROM_BITS(VMATH(bits)(cosine) ^ cosine_sign);
    *second = radius * FROM_BITS(VMATH(bits)(sine) ^ sine_sign);
}

/* One group of normals. f32: each pair takes a word for u and a word for the angle. f64: each pair
 * takes two words for u and two for the angle. u lies half a step off 0, so its logarithm is
 * finite. */
static void KERNEL(fill_normal)(elem *restrict out, const void *opaque, uint64_t counter)
{
    const adzi_normal_args *args = opaque;
    uint32_t words[4][ADZI_PHILOX_GROUP];
    adzi_philox_group(words, args->state->seed, counter);
    elem mean = (elem)args->mean, std = (elem)args->std;
    for (int pair = 0; pair < PER_GROUP; pair += 2 * ADZI_PHILOX_GROUP) {
        elem *restrict y = out + pair;
#if ELEM_IS_F32
        const uint32_t *length = words[pair / ADZI_PHILOX_GROUP];
        const uint32_t *turn = words[pair / ADZI_PHILOX_GROUP + 1];
#else
        const uint32_t *turn = words[2];
#endif
        for (int c = 0; c < ADZI_PHILOX_GROUP; ++c) {
            uint32_t quadrant = nearest_quadrant(turn[c]);
            int32_t rest = within_quadrant(turn[c], quadrant);
#if ELEM_IS_F32
            elem u = ((float)(int32_t)(length[c] >> 1) + 0.5f) * 0x1p-31f;
            elem within = (float)rest * 0x1p-30f;
#else
            elem u = (top_53_bits(words[0][c], words[1][c]) + 0.5) * 0x1p-53;
            elem within = ((double)rest * 0x1p32 + word_to_double(words[3][c])) * 0x1p-62;
#endif
            elem first, second;
            KERNEL(box_muller)(&first, &second, u, quadrant, within);
            y[c] = mean + std * first;
            y[c + ADZI_PHILOX_GROUP] = mean + std * second;
        }
    }
}

void KERNEL(normal)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_normal_args *args = opaque;
    KERNEL(draw)(KERNEL(fill_normal), args->out, args->state->offset, args, begin, end);
}

/* y[k] = x[k] * scale if bit k of `kept` is 1, else x[k] * 0, over one whole group. y may be x.
 * Dropped elements are multiplied too, so that NaN and infinity give NaN at every instruction set.
 */
static inline __attribute__((always_inline)) void KERNEL(drop_group)(
    elem *y, const elem *x, uint64_t kept, elem scale)
{
#if defined(__AVX512F__) && ELEM_IS_F32
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
    elem dropped[ADZI_GROUP_WORDS]; /* a buffer, so that x may be y */
    uint32_t half[2] = { (uint32_t)kept, (uint32_t)(kept >> 32) };
    for (int h = 0; h < 2; ++h)
        for (int k = 0; k < 32; ++k)
            dropped[h * 32 + k] = x[h * 32 + k] * (half[h] & (uint32_t)1 << k ? scale : ELEM(0));
    memcpy(y, dropped, sizeof dropped);
#endif
}

/* Applies the mask `kept` to group g of the arguments. `whole` is a constant in each call: a whole
 * group has a constant length, the last group of the tensor may be shorter. */
static inline __attribute__((always_inline)) void KERNEL(drop)(
    const adzi_dropout_args *args, int64_t g, uint64_t kept, elem scale, const bool whole)
{
    const elem *x = (const elem *)args->x + g * ADZI_GROUP_WORDS;
    elem *y = (elem *)args->y + g * ADZI_GROUP_WORDS;
    if (whole) {
        KERNEL(drop_group)(y, x, kept, scale);
        return;
    }
    int64_t rest = args->n - g * ADZI_GROUP_WORDS;
    for (int64_t k = 0; k < ADZI_GROUP_WORDS && k < rest; ++k)
        y[k] = x[k] * (kept >> k & 1 ? scale : ELEM(0));
}

/* Draws `pairs` groups of words, each of which gives the masks of two groups of elements, from the
 * even group `first` on. Applies the masks of groups begin .. end - 1 and keeps them if args->kept
 * is set. */
static inline __attribute__((always_inline)) void KERNEL(draw_and_drop)(
    const adzi_dropout_args *args, adzi_keep_rule keep, const adzi_philox_keys *keys, int64_t first,
    const int pairs, int64_t begin, int64_t end, const bool whole)
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
            KERNEL(drop)(args, g, kept[odd], (elem)keep.value, full);
            if (args->kept != NULL)
                args->kept[g] = kept[odd];
        }
    }
}

/* Dropout with new masks. A unit is a group of ADZI_GROUP_WORDS elements. f32 and f64 use the same
 * bits, so both dtypes drop the same elements. */
void KERNEL(dropout)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_dropout_args *args = opaque;
    adzi_keep_rule keep = adzi_keep_rule_of(args->keep, args->scale);
    const adzi_philox_keys keys = adzi_philox_keys_of(args->state->seed);
    int64_t whole = args->n / ADZI_GROUP_WORDS < end ? args->n / ADZI_GROUP_WORDS : end;
    for (int64_t g = begin; g < end;) {
        if (g % 2 == 0 && g + ADZI_KEEP_GROUPS <= whole) {
            KERNEL(draw_and_drop)(args, keep, &keys, g, ADZI_PHILOX_GROUPS, g, end, true);
            g += ADZI_KEEP_GROUPS;
        } else { /* the pair's other group may belong to another thread, or the last is short */
            int64_t first = g / 2 * 2;
            KERNEL(draw_and_drop)(args, keep, &keys, first, 1, g, end, false);
            g = first + 2;
        }
    }
}

/* Applies the masks that KERNEL(dropout) has kept, as its backward does. A unit is a group. */
void KERNEL(dropout_again)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_dropout_args *args = opaque;
    elem scale = (elem)adzi_keep_rule_of(args->keep, args->scale).value;
    int64_t whole = args->n / ADZI_GROUP_WORDS < end ? args->n / ADZI_GROUP_WORDS : end, g = begin;
    for (; g < whole; ++g)
        KERNEL(drop)(args, g, args->kept[g], scale, true);
    for (; g < end; ++g)
        KERNEL(drop)(args, g, args->kept[g], scale, false);
}

#undef BITS
#undef SIGN_SHIFT
#undef PER_GROUP
#undef SQUARE_ROOT

#endif
