/* Kernel of sort: all elements of a slice in order, and their positions.
 *
 * An element becomes an unsigned key that is ordered as the elements are. Pairs of a key and a
 * position are distributed by one byte of the key after the other, the lowest byte first. A pass
 * keeps the order of pairs with equal bytes, so the sort is stable. The bytes of all passes are
 * counted while the keys are made. A pass whose byte is the same in all keys is left out. A slice
 * of n elements takes O(n) steps per byte.
 *
 * Values are read from x by their positions, so -0 and NaN keep their bits. */
#ifndef elem
#include <string.h>

#include "ops/order/sort.kernel.h"

enum { DIGITS = 256 }; /* values of a byte */

#define THIS_FILE "ops/order/sort.kernel.c"
#include "tensor/kernel/each_type.h"
#else

/* An unsigned integer as wide as elem, or 32 bits for elements of one byte. */
typedef __typeof__(_Generic((elem)0, double
                            : (uint64_t)0, int64_t
                            : (uint64_t)0, default
                            : (uint32_t)0)) KERNEL(key);

typedef struct KERNEL(pair) {
    KERNEL(key) key;
    uint32_t position;
} KERNEL(pair);

/* Passes over a slice: the bytes of an element. */
enum { KERNEL(passes) = sizeof(elem) };

/* The key of x: keys ascend as the elements do, or descend. -0 equals 0, and NaN is the largest. */
static inline KERNEL(key) KERNEL(key_of)(elem x, bool descending)
{
    const KERNEL(key) all = (KERNEL(key)) ~(KERNEL(key))0;
    KERNEL(key) key;
#if ELEM_IS_FLOAT
    const KERNEL(key) sign = all ^ all >> 1;
    const elem value = x + 0; /* makes 0 of -0 */
    memcpy(&key, &value, sizeof key);
    /* The bits of a negative number fall as the number rises, so all of them are inverted. */
    key = (key & sign) != 0 ? ~key : key | sign;
    key = x != x ? all : key;
#else
    const KERNEL(key) sign = (elem)-1 < 0 ? all ^ all >> 1 : 0;
    key = (KERNEL(key))x ^ sign;
#endif
    return descending ? key ^ all >> (8 * (sizeof key - sizeof(elem))) : key;
}

static inline uint32_t KERNEL(digit)(KERNEL(key) key, int pass)
{
    return (uint32_t)(key >> 8 * pass) & (DIGITS - 1);
}

/* One pass: distributes n pairs by a byte of their keys. `count` becomes the position where the
 * next pair with each byte goes. */
static inline void KERNEL(distribute)(KERNEL(pair) *restrict to, const KERNEL(pair) *restrict from,
    int64_t n, uint32_t *restrict count, int pass)
{
    uint32_t before = 0;
    for (int d = 0; d < DIGITS; ++d) {
        const uint32_t here = count[d];
        count[d] = before;
        before += here;
    }
    for (int64_t i = 0; i < n; ++i) {
        to[count[KERNEL(digit)(from[i].key, pass)]++] = from[i];
    }
}

/* Sorts the slice x[n] with stride s. `from` and `to` have room for n pairs each. */
static void KERNEL(sort_slice)(const adzi_sort_args *args, const elem *x, elem *values,
    int64_t *positions, KERNEL(pair) * from, KERNEL(pair) * to)
{
    uint32_t count[KERNEL(passes)][DIGITS] = { { 0 } };
    const int64_t n = args->n, s = args->inner;
    for (int64_t i = 0; i < n; ++i) {
        const KERNEL(key) key = KERNEL(key_of)(x[i * s], args->descending);
        from[i] = (KERNEL(pair)){ key, (uint32_t)i };
        for (int pass = 0; pass < KERNEL(passes); ++pass) {
            ++count[pass][KERNEL(digit)(key, pass)];
        }
    }
    for (int pass = 0; pass < KERNEL(passes); ++pass) {
        if (count[pass][KERNEL(digit)(from[0].key, pass)] == n) {
            continue;
        }
        KERNEL(distribute)(to, from, n, count[pass], pass);
        KERNEL(pair) *const other = from;
        from = to;
        to = other;
    }
    for (int64_t j = 0; j < n; ++j) {
        positions[j * s] = from[j].position;
        values[j * s] = x[from[j].position * s];
    }
}

void KERNEL(sort_slices)(const void *block, int64_t begin, int64_t end);
void KERNEL(sort_slices)(const void *block, int64_t begin, int64_t end)
{
    const adzi_sort_args *args = block;
    const int64_t n = args->n, s = args->inner;
    for (int64_t worker = begin; worker < end; ++worker) {
        KERNEL(pair) *from = (KERNEL(pair) *)(void *)args->scratch + 2 * n * worker;
        const int64_t last = args->slices * (worker + 1) / args->workers;
        for (int64_t slice = args->slices * worker / args->workers; slice < last; ++slice) {
            const int64_t at = slice / s * n * s + slice % s;
            KERNEL(sort_slice)
            (args, (const elem *)args->x + at, (elem *)args->values + at, args->positions + at,
                from, from + n);
        }
    }
}

#endif
