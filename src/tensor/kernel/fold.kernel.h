/* Selection of one of many contiguous elements, such as the largest, in registers.
 *
 *     KERNEL(pick)(x, n, way)   of n >= 1 elements, the one that wins over all others
 *
 * `way` is a constant that says which of two elements wins. Elements may be compared more than once
 * and in any order, so nothing else may decide.
 *
 * The header is included once per type elem, inside each_float.h or each_type.h, and has no include
 * guard. Vectors are explicit, because compilers unroll a loop over the lanes of a register before
 * they would vectorise it. */
#include "tensor/kernel/registers.h"

#ifndef ADZI_TENSOR_KERNEL_FOLD_KERNEL_H
#define ADZI_TENSOR_KERNEL_FOLD_KERNEL_H
/* The ways. A NaN wins over every number; in LARGER it may win or lose. */
enum { LARGER, LARGER_OR_NAN, SMALLER_OR_NAN };
#endif

#undef IS_NAN
#if ELEM_IS_FLOAT
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) 0
#endif

typedef elem KERNEL(vector) __attribute__((vector_size(ADZI_REGISTER_BYTES)));
typedef elem KERNEL(vector_16) __attribute__((vector_size(16)));

enum {
    KERNEL(lanes_of_16) = 16 / sizeof(elem),
    KERNEL(register) = ADZI_REGISTER_BYTES / sizeof(elem)
};

/* Whether x wins over y. */
INLINE bool KERNEL(wins)(elem x, elem y, const int way)
{
    return (way == SMALLER_OR_NAN ? x < y : x > y) | (way != LARGER && IS_NAN(x));
}

/* TAKE(wins, b, a) is b in the lanes where the comparison `wins` is true, else a. It is no
 * function: gcc makes one instruction of the comparison and the choice if it sees both in one
 * place. WINNERS(name, vector) makes name(a, b, way): in each lane b where it wins over a, else a.
 */
#undef TAKE
#undef WINNERS
#define TAKE(wins, b, a) ((((mask)(b)) & (wins)) | (((mask)(a)) & ~(wins)))
#define WINNERS(name, vector)                                                      \
    INLINE vector name(vector a, vector b, const int way)                          \
    {                                                                              \
        typedef __typeof__(a == b) mask; /* all ones or zeros per lane */          \
        return (vector)(way == LARGER          ? TAKE(b > a, b, a)                 \
                        : way == LARGER_OR_NAN ? TAKE((b > a) | IS_NAN(b), b, a)   \
                                               : TAKE((b < a) | IS_NAN(b), b, a)); \
    }
WINNERS(KERNEL(winners), KERNEL(vector))
WINNERS(KERNEL(winners_of_16), KERNEL(vector_16))

/* Part i of a register, 16 bytes. */
INLINE KERNEL(vector_16) KERNEL(part)(KERNEL(vector) all, const int i)
{
    KERNEL(vector_16) part;
    memcpy(&part, (const char *)&all + 16 * i, sizeof part);
    return part;
}

/* The winners of the parts of a register, lane by lane. */
INLINE KERNEL(vector_16) KERNEL(winners_of_parts)(KERNEL(vector) all, const int way)
{
    KERNEL(vector_16) last = KERNEL(part)(all, 0);
    ADZI_UNROLLED_FOR(int i = 1; i < ADZI_REGISTER_BYTES / 16; ++i)
    {
        last = KERNEL(winners_of_16)(last, KERNEL(part)(all, i), way);
    }
    return last;
}

INLINE elem KERNEL(pick)(const elem *x, int64_t n, const int way)
{
    elem found = x[0];
    if (n < KERNEL(register)) {
        for (int64_t i = 1; i < n; ++i) {
            found = KERNEL(wins)(x[i], found, way) ? x[i] : found;
        }
        return found;
    }
    KERNEL(vector) a, b, c, d; /* a: the first elements; b: the last; may overlap */
    memcpy(&a, x, sizeof a);
    memcpy(&b, x + n - KERNEL(register), sizeof b);
    int64_t i = KERNEL(register);
    for (; i + 2 * KERNEL(register) <= n; i += 2 * KERNEL(register)) {
        memcpy(&c, x + i, sizeof c);
        memcpy(&d, x + i + KERNEL(register), sizeof d);
        a = KERNEL(winners)(a, c, way);
        b = KERNEL(winners)(b, d, way);
    }
    if (i + KERNEL(register) < n) {
        memcpy(&c, x + i, sizeof c);
        a = KERNEL(winners)(a, c, way);
    }
    const KERNEL(vector_16) last = KERNEL(winners_of_parts)(KERNEL(winners)(a, b, way), way);
    elem lane[KERNEL(lanes_of_16)];
    memcpy(lane, &last, sizeof lane);
    found = lane[0];
    for (int j = 1; j < KERNEL(lanes_of_16); ++j) {
        found = KERNEL(wins)(lane[j], found, way) ? lane[j] : found;
    }
    return found;
}
