/* Random draws as kernels over counters (philox.h).
 *
 * Element i of a draw depends on (seed, offset, i) only: not on how the work was cut, the number
 * of threads or the instruction set, whose results agree bit for bit. A generator is its seed and
 * the offset of the next unused counter; a draw of n elements moves it on by
 * adzi_philox_counters(n, kind).
 *
 * Counters are taken in groups of sixteen. A group gives 64 elements where one takes a 32-bit word
 * and 32 where one takes two: element i is made from group i / 64 (or i / 32). Bernoulli draws and
 * dropout take half a word: Note [Half a word an element].
 */
#ifndef ADZI_TENSOR_RANDOM_RANDOM_H
#define ADZI_TENSOR_RANDOM_RANDOM_H

#include <stdint.h>

#include "adze/random.h"

#include "base/isa.h"
#include "tensor/random/philox.h"

/* How many 32-bit words an element of the draw takes. */
typedef enum adzi_draw {
    ADZI_DRAW_WORD = 1,  /* f32 uniform and normal; Bernoulli and dropout count as much, too */
    ADZI_DRAW_DOUBLE = 2 /* f64 uniform and normal; integers of every dtype */
} adzi_draw;

enum {
    ADZI_GROUP_WORDS = 4 * ADZI_PHILOX_GROUP,   /* elements of a group at one word each */
    ADZI_GROUP_DOUBLES = 2 * ADZI_PHILOX_GROUP, /* elements of a group at two words each */
};

/** Counters that a draw of n elements consumes: ceil(n / 64) or ceil(n / 32) groups of sixteen. */
static inline uint64_t adzi_philox_counters(int64_t n, adzi_draw draw)
{
    uint64_t elements = draw == ADZI_DRAW_WORD ? ADZI_GROUP_WORDS : ADZI_GROUP_DOUBLES;
    return ((uint64_t)n + elements - 1) / elements * ADZI_PHILOX_GROUP;
}

/** The part of one group that a kernel's [begin, end) asks for, from element i on. */
typedef struct adzi_group_span {
    uint64_t counter; /* the group's first */
    int64_t start;    /* the group's first element */
    int64_t stop;     /* end of the part */
} adzi_group_span;

static inline adzi_group_span adzi_group_at(
    uint64_t offset, int64_t i, int64_t end, int64_t per_group)
{
    int64_t group = i / per_group;
    int64_t start = group * per_group;
    int64_t stop = end - start < per_group ? end : start + per_group;
    return (adzi_group_span){ offset + (uint64_t)group * ADZI_PHILOX_GROUP, start, stop };
}

/** An element is kept when its 32 bits are at most `last`, and becomes `value`; where p is under
 * 2^-33, that is 0. */
typedef struct adzi_keep_rule {
    uint32_t last;
    double value;
} adzi_keep_rule;

static inline adzi_keep_rule adzi_keep_rule_of(double p, double value)
{
    uint64_t kept_words = (uint64_t)(p * 0x1p32 + 0.5);
    return (
        adzi_keep_rule){ kept_words ? (uint32_t)(kept_words - 1) : 0, kept_words ? value : 0.0 };
}

/* Note [Half a word an element]
 *
 * Drawing words is most of what dropout costs, and a mask needs few of their bits. So one group of
 * words serves two groups of elements: the even one by the lower halves, the odd one by the upper.
 * A half under that of the threshold keeps, one above it drops; one that equals it, one in 65,536,
 * is settled by the lower half of the threshold and sixteen bits more, those at the same place of
 * the counter whose third word is 1. Every element thus keeps its probability to within 2^-32.
 */

enum { ADZI_KEEP_GROUPS = 2 * ADZI_PHILOX_GROUPS }; /* groups of elements best drawn together */

/** The first counter of the words that group g of elements shares with its neighbour. */
static inline uint64_t adzi_keep_counter(uint64_t offset, int64_t g)
{
    return offset + (uint64_t)(g / 2) * ADZI_PHILOX_GROUP;
}

/** Settles the elements in `equal`; returns the kept ones. */
static __attribute__((noinline, unused)) uint64_t adzi_keep_ties(
    uint64_t equal, uint64_t seed, uint64_t counter, uint32_t last, int shift)
{
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint64_t kept = 0;
    for (int k = 0; k < ADZI_GROUP_WORDS; ++k) {
        if (equal >> k & 1) {
            uint64_t at = counter + (uint64_t)(k % ADZI_PHILOX_GROUP);
            const uint32_t place[4] = { (uint32_t)at, (uint32_t)(at >> 32), 1, 0 };
            uint32_t words[4];
            adzi_philox(words, place, key);
            uint32_t more = words[k / ADZI_PHILOX_GROUP] >> shift & 0xffff;
            kept |= (uint64_t)(more <= (last & 0xffff)) << k;
        }
    }
    return kept;
}

/** Which elements of a group are kept, from the words at `counter`; `odd` is the group's number's
 * last bit. */
static inline __attribute__((always_inline)) uint64_t adzi_keep_bits(
    const uint32_t *words, uint64_t seed, uint64_t counter, uint32_t last, const int odd)
{
    uint64_t kept, equal;
    adzi_compare_halves(&kept, &equal, words, last >> 16, 16 * odd);
    return equal == 0 ? kept : kept | adzi_keep_ties(equal, seed, counter, last, 16 * odd);
}

/** Which elements are kept in both groups that share the words at `counter`. kept[0] belongs to the
 * even group, kept[1] to the odd one. */
static inline __attribute__((always_inline)) void adzi_keep_pair(
    uint64_t kept[2], const uint32_t *words, uint64_t seed, uint64_t counter, uint32_t last)
{
#if defined(__AVX512BW__)
    /* All halves are compared at once; in the masks, lower and upper ones take turns. */
    enum { LOWER = 0x55555555, WORDS = 16 };
    const __m512i threshold = _mm512_set1_epi16((short)(last >> 16));
    __mmask32 ties = 0;
    kept[0] = kept[1] = 0;
    for (int k = 0; k < ADZI_GROUP_WORDS; k += WORDS) {
        __m512i at = _mm512_loadu_si512(words + k);
        __mmask32 below = _mm512_cmplt_epu16_mask(at, threshold);
        ties |= _mm512_cmpeq_epi16_mask(at, threshold);
        kept[0] |= (uint64_t)_pext_u32(below, LOWER) << k;
        kept[1] |= (uint64_t)_pext_u32(below, ~(uint32_t)LOWER) << k;
    }
    if (__builtin_expect(ties == 0, 1)) {
        return;
    }
#endif
    kept[0] = adzi_keep_bits(words, seed, counter, last, 0);
    kept[1] = adzi_keep_bits(words, seed, counter, last, 1);
}

/* The arguments of the kernels; units are elements, `out` is contiguous. */

/** uniform: low + (high - low) u, u in [0, 1) with 24 bits (f32) or 53 (f64); never high, unless
 * low == high. */
typedef struct adzi_uniform_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    double low, high;
} adzi_uniform_args;

/** normal: mean + std z, by Box and Muller from 31 + 32 random bits a pair (f32) or 53 + 64 (f64);
 * |z| is at most 6.7 (f32) or 8.7 (f64). */
typedef struct adzi_normal_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    double mean, std;
} adzi_normal_args;

/** randint: low + floor(range r / 2^64) with r of 64 random bits; the bias is under range / 2^64.
 * The integer is the same in every dtype that holds it. */
typedef struct adzi_randint_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    int64_t low;
    uint64_t range; /* high - low, at least 1 */
} adzi_randint_args;

/** bernoulli: 1 with probability p (to within 2^-32), else 0. In u8 it writes the mask that
 * dropout with the same seed, offset and p draws. */
typedef struct adzi_bernoulli_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    double p;
} adzi_bernoulli_args;

/** dropout: y = x m, m = scale where the element is kept, else 0, so that NaN passes as in
 * PyTorch; y may be x. Bit k of kept[g] says whether element 64 g + k is. The units are the groups
 * of 64 elements, the last of which may be short. dropout_again does the same to another x with the
 * bits that are there. */
typedef struct adzi_dropout_args {
    const adz_generator_state *state; /* read when the kernel runs; dropout alone */
    const void *x;
    void *y;
    uint64_t *kept; /* written by dropout unless NULL, read by dropout_again */
    int64_t n;      /* elements */
    double keep;    /* probability that an element is kept */
    double scale;   /* 1 / keep */
} adzi_dropout_args;

/** Fills a contiguous y with draws of bernoulli, from a state that the kernel reads when it runs.
 */
void adzi_bernoulli_draw(adz_tensor *y, double p, const adz_generator_state *state);

/* KERNEL_TABLE_FLOAT(uniform), (normal), (dropout), (dropout_again);
 * KERNEL_TABLE_ALL(randint), (bernoulli). */

#endif
