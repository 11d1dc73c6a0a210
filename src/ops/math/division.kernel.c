/* Kernels of remainders.
 *
 * A unit is one element. Every result is exact, so all processors give the same bits; fmod of the C
 * library is exact as well. */
#ifndef elem
#define THIS_FILE "ops/math/division.kernel.c"
#include <math.h>

#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

#undef FMOD
#if ELEM_IS_F32
#define FMOD fmodf
#else
#define FMOD fmod
#endif

POINTWISE2(fmod, elem, elem, elem, FMOD(a, b))

/* The remainder moves by b if its sign is not that of b. */
static inline elem KERNEL(rest)(elem a, elem b)
{
    const elem y = FMOD(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}
POINTWISE2(remainder, elem, elem, elem, KERNEL(rest)(a, b))

#else

/* A divisor of -1 could overflow, and has no remainder. One of 0 was refused before the launch; a
 * trap would end the program if it were not. */
static inline int64_t KERNEL(modulo)(int64_t a, int64_t b)
{
    return b == -1 || b == 0 ? 0 : a % b;
}
static inline int64_t KERNEL(rest)(int64_t a, int64_t b)
{
    const int64_t y = KERNEL(modulo)(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}
POINTWISE2(fmod, elem, elem, elem, KERNEL(modulo)(a, b))
POINTWISE2(remainder, elem, elem, elem, KERNEL(rest)(a, b))

#endif
