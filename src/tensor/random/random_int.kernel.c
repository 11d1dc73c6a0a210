/* Kernels of random integers and of Bernoulli draws, for every dtype; see random.h.
 *
 *     randint    y = low + floor(w range / 2^64),   w a random integer of 64 bits
 *     bernoulli  y = 1 with probability p, else 0
 *
 * A unit is one element. It belongs to the group of Philox words that its position gives, so the
 * values do not depend on how elements are cut for threads. Each group is drawn to a buffer, and
 * the elements of this part of the launch are copied from there. The bias of randint is below
 * range / 2^64.
 */
#ifndef elem
#include <string.h>
#include "tensor/random/random.h"

/* The upper 64 bits of the product (high 2^32 + low) * range, from four products of 32 by 32 bits,
 * which vector units have. */
static inline uint64_t multiply_high(uint32_t high, uint32_t low, uint64_t range)
{
    uint64_t range_high = range >> 32, range_low = (uint32_t)range;
    uint64_t middle = high * range_low + ((low * range_low) >> 32);
    uint64_t rest = low * range_high + (uint32_t)middle;
    return high * range_high + (middle >> 32) + (rest >> 32);
}

#define THIS_FILE "tensor/random/random_int.kernel.c"
#include "tensor/kernel/each_type.h"
#else

/* One group of integers. Each takes two words as an integer of 64 bits. A range below 2^32 needs
 * two products instead of four. */
static inline void KERNEL(randint_group)(elem *restrict drawn, uint32_t words[4][ADZI_PHILOX_GROUP],
    const uint64_t range, const int64_t low)
{
    for (int pair = 0; pair < 4; pair += 2) {
        const uint32_t *restrict upper = words[pair], *restrict lower = words[pair + 1];
        elem *restrict to = drawn + pair / 2 * ADZI_PHILOX_GROUP;
        uint64_t above[ADZI_PHILOX_GROUP];
        if (range >> 32 == 0) {
            for (int c = 0; c < ADZI_PHILOX_GROUP; ++c) {
                above[c] =
                    (upper[c] * (range & UINT32_MAX) + (lower[c] * (range & UINT32_MAX) >> 32)) >>
                    32;
            }
        } else {
            for (int c = 0; c < ADZI_PHILOX_GROUP; ++c) {
                above[c] = multiply_high(upper[c], lower[c], range);
            }
        }
        for (int c = 0; c < ADZI_PHILOX_GROUP; ++c) {
            const int64_t value = (int64_t)((uint64_t)low + above[c]);
            to[c] = ELEM_IS_BOOL ? (elem)(value != 0) : (elem)value;
        }
    }
}

void KERNEL(randint)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_randint_args *args = opaque;
    const adzi_philox_keys keys = adzi_philox_keys_of(args->state->seed);
    elem *out = args->out;
    adzi_group_span span;
    for (int64_t i = begin; i < end; i = span.stop) {
        span = adzi_group_at(args->state->offset, i, end, ADZI_GROUP_DOUBLES);
        uint32_t words[1][4][ADZI_PHILOX_GROUP];
        adzi_philox_groups(words, 1, &keys, span.counter);
        elem drawn[ADZI_GROUP_DOUBLES];
        KERNEL(randint_group)(drawn, words[0], args->range, args->low);
        memcpy(out + i, drawn + (i - span.start), (size_t)(span.stop - i) * sizeof(elem));
    }
}

void KERNEL(bernoulli)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_bernoulli_args *args = opaque;
    elem *out = args->out;
    adzi_keep_rule keep = adzi_keep_rule_of(args->p, 1.0);
    elem one = (elem)keep.value;
    adzi_group_span span;
    for (int64_t i = begin; i < end; i = span.stop) {
        span = adzi_group_at(0, i, end, ADZI_GROUP_WORDS);
        int64_t g = span.start / ADZI_GROUP_WORDS;
        uint64_t counter = adzi_keep_counter(args->state->offset, g);
        uint32_t words[4][ADZI_PHILOX_GROUP];
        adzi_philox_group(words, args->state->seed, counter);
        uint64_t kept =
            adzi_keep_bits(words[0], args->state->seed, counter, keep.last, (int)(g % 2));
        const uint32_t half[2] = { (uint32_t)kept, (uint32_t)(kept >> 32) };
        elem drawn[ADZI_GROUP_WORDS];
        for (int h = 0; h < 2; ++h)
            for (int k = 0; k < 32; ++k)
                drawn[h * 32 + k] = half[h] & (uint32_t)1 << k ? one : (elem)0;
        memcpy(out + i, drawn + (i - span.start), (size_t)(span.stop - i) * sizeof(elem));
    }
}

#endif
