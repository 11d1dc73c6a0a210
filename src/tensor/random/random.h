/* Kernels of random draws. They compute random words from counters (philox.h).
 *
 * Element i of a draw depends on (seed, offset, i) alone. It does not depend on how the units are
 * cut, on the number of threads or on the instruction set: all give the same bits. The state of a
 * generator is its seed and the offset of the next unused counter. A draw of n elements advances
 * the offset by adzi_philox_counters(n, kind).
 *
 * Counters are taken in groups of sixteen. A group gives 64 elements of one 32-bit word each, or 32
 * elements of two words each. So element i is made from group i / 64 or i / 32. Bernoulli draws and
 * dropout take half a word: Note [Half a word an element].
 */
#ifndef ADZI_TENSOR_RANDOM_RANDOM_H
#define ADZI_TENSOR_RANDOM_RANDOM_H

#include <stdint.h>

#include "adze/random.h"

#include "base/threads/addresses.h"
#include "base/isa.h"
#include "tensor/random/philox.h"

/* How many 32-bit words an element of the draw takes. */
typedef enum adzi_draw {
    ADZI_DRAW_WORD = 1,  /* f32 uniform and normal; Bernoulli and dropout also count one word */
    ADZI_DRAW_DOUBLE = 2 /* f64 uniform and normal; integers of every dtype */
} adzi_draw;

enum {
    ADZI_GROUP_WORDS = 4 * ADZI_PHILOX_GROUP,   /* elements of a group at one word each */
    ADZI_GROUP_DOUBLES = 2 * ADZI_PHILOX_GROUP, /* elements of a group at two words each */
};

/** The number of counters that a draw of n elements uses: ceil(n / 64) or ceil(n / 32) groups of
 * sixteen. */
static inline uint64_t adzi_philox_counters(int64_t n, adzi_draw draw)
{
    uint64_t elements = draw == ADZI_DRAW_WORD ? ADZI_GROUP_WORDS : ADZI_GROUP_DOUBLES;
    return ((uint64_t)n + elements - 1) / elements * ADZI_PHILOX_GROUP;
}

/** The part of one group that lies in a kernel's range of elements. */
typedef struct adzi_group_span {
    uint64_t counter; /* the first counter of the group */
    int64_t start;    /* the first element of the group */
    int64_t stop;     /* the end of the part */
} adzi_group_span;

/** The group of element i, with its part of a kernel's range that ends at `end`. `offset` is the
 * first counter of the draw. `per_group` is the number of elements per group. */

static inline adzi_group_span adzi_group_at(
    uint64_t offset, int64_t i, int64_t end, int64_t per_group)
{
    int64_t group = i / per_group;
    int64_t start = group * per_group;
    int64_t stop = end - start < per_group ? end : start + per_group;
    return (adzi_group_span){ offset + (uint64_t)group * ADZI_PHILOX_GROUP, start, stop };
}

/** The rule of Bernoulli draws and dropout: an element whose 32 random bits are at most `last` is
 * kept and gets the factor `value`. If p is below 2^-33, no element is kept: `value` is 0 then. */
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
 * Most of dropout's time is spent on drawing words, and a mask needs few of their bits. So one
 * group of words serves two groups of elements: the lower halves of the words serve the even group,
 * the upper halves the odd one.
 *
 * A half word is compared with the upper half of the threshold. If it is smaller, the element is
 * kept; if it is larger, the element is dropped. If both are equal, which happens once in 65,536
 * times, sixteen more bits are compared with the lower half of the threshold. These bits come from
 * the counter whose third word is 1. Each element is thus kept with its probability to within
 * 2^-32.
 */

/** The number of groups of elements that are drawn together, because that is fastest. */
enum { ADZI_KEEP_GROUPS = 2 * ADZI_PHILOX_GROUPS };

/** The first counter of the words that group g of elements shares with one other group. */
static inline uint64_t adzi_keep_counter(uint64_t offset, int64_t g)
{
    return offset + (uint64_t)(g / 2) * ADZI_PHILOX_GROUP;
}

/** Slow path: decides the elements in `equal`, whose half word equals the upper half of the
 * threshold `last`. Bit k of the result says whether element k is kept. */
static __attribute__((noinline, unused)) uint64_t adzi_keep_ties(
    uint64_t equal, uint64_t seed, uint64_t counter, uint32_t last, int shift)
{
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint64_t kept = 0;
    for (int k = 0; k < ADZI_GROUP_WORDS; ++k) {
        if (equal >> k & 1) {
            uint64_t at = counter + (uint64_t)(k % ADZI_PHILOX_GROUP);
            const uint32_t position[4] = { (uint32_t)at, (uint32_t)(at >> 32), 1, 0 };
            uint32_t words[4];
            adzi_philox(words, position, key);
            uint32_t more = words[k / ADZI_PHILOX_GROUP] >> shift & 0xffff;
            kept |= (uint64_t)(more <= (last & 0xffff)) << k;
        }
    }
    return kept;
}

/** Bit k of the result says whether element k of a group is kept. `words` are those at `counter`;
 * `odd` is 1 for groups with an odd number. */
static inline __attribute__((always_inline)) uint64_t adzi_keep_bits(
    const uint32_t *words, uint64_t seed, uint64_t counter, uint32_t last, const int odd)
{
    uint64_t kept, equal;
    adzi_compare_halves(&kept, &equal, words, last >> 16, 16 * odd);
    return equal == 0 ? kept : kept | adzi_keep_ties(equal, seed, counter, last, 16 * odd);
}

/** Decides for both groups of elements that share the words at `counter`. Bit k of kept[0] says
 * whether element k of the even group is kept. kept[1] says it for the odd group. */
static inline __attribute__((always_inline)) void adzi_keep_pair(
    uint64_t kept[2], const uint32_t *words, uint64_t seed, uint64_t counter, uint32_t last)
{
#if defined(__AVX512BW__)
    /* Both halves of 16 words are compared at once. In the masks, the bits of lower and upper
     * halves alternate. */
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

/* Arguments of kernels. A unit is an element, unless the struct says otherwise; `out` is
 * contiguous. */

/** uniform: low + (high - low) * u, u in [0, 1) with 24 bits (f32) or 53 bits (f64). The result is
 * never `high`, unless low == high. */
typedef struct adzi_uniform_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    double low, high;
} adzi_uniform_args;

ADZI_ADDRESSES(adzi_uniform_args, state, out);

/** normal: mean + std * z, by Box and Muller. A pair of numbers is made of 31 + 32 random bits
 * (f32) or 53 + 64 (f64). |z| is at most 6.7 (f32) or 8.7 (f64). */
typedef struct adzi_normal_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    double mean, std;
} adzi_normal_args;

ADZI_ADDRESSES(adzi_normal_args, state, out);

/** randint: low + floor(range * r / 2^64), with r of 64 random bits. The bias is below
 * range / 2^64. All dtypes that hold the integer get equal numbers. */
typedef struct adzi_randint_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    int64_t low;
    uint64_t range; /* high - low, at least 1 */
} adzi_randint_args;

ADZI_ADDRESSES(adzi_randint_args, state, out);

/** bernoulli: 1 with probability p (to within 2^-32), else 0. In u8 it writes the mask that dropout
 * draws from an equal state with keep = p. */
typedef struct adzi_bernoulli_args {
    const adz_generator_state *state; /* read when the kernel runs */
    void *out;
    double p;
} adzi_bernoulli_args;

ADZI_ADDRESSES(adzi_bernoulli_args, state, out);

/** dropout: y = x * m, where m is `scale` for a kept element and 0 for a dropped one. The product
 * passes NaN on, as in PyTorch. y may be x. Bit k of kept[g] says whether element 64 g + k is kept.
 * A unit is a group of 64 elements; the last group may be shorter. The kernel dropout_again applies
 * the bits in `kept` to another x and draws nothing. */
typedef struct adzi_dropout_args {
    const adz_generator_state *state; /* read when dropout runs; not used by dropout_again */
    const void *x;
    void *y;
    uint64_t *kept; /* written by dropout unless NULL, read by dropout_again */
    int64_t n;      /* elements */
    double keep;    /* probability that an element is kept */
    double scale;   /* 1 / keep */
} adzi_dropout_args;

/** Its pointers for ADZI_ADDRESSES. `at` is empty, or the name of a member and a dot. */
#define ADZI_DROPOUT_ADDRESSES(at) at state, at x, at y, at kept

ADZI_ADDRESSES(adzi_dropout_args, ADZI_DROPOUT_ADDRESSES());

/** Fills a contiguous y with draws of bernoulli, from a state that the kernel reads when it runs.
 */
void adzi_bernoulli_draw(adz_tensor *y, double p, const adz_generator_state *state);

/* A file that launches these kernels declares KERNEL_TABLE_FLOAT for uniform, normal, dropout and
 * dropout_again, and KERNEL_TABLE_ALL for randint and bernoulli. */

#endif
