/* Loops over arrays that call vmath.h's functions. They are compiled once per instruction set, like
 * the kernels of the library, so that the tests check the vectorised code. */
#ifndef elem
#include "vmath_arrays.h"
#include "tensor/kernel/vmath.h"
#define THIS_FILE "tensor/vmath.kernel.c"
#include "tensor/kernel/each_float.h"
#else

/* pow has two arguments: here are a power of x, and a power by x. */
static inline elem VMATH(pow_of)(elem x)
{
    return VMATH(pow)(x, ELEM(2.625));
}

static inline elem VMATH(pow_by)(elem x)
{
    return VMATH(pow)(ELEM(1.375), x);
}

#define ARRAY_FUNCTION(name)                                                \
    void KERNEL(vmath_##name)(const void *args, int64_t begin, int64_t end) \
    {                                                                       \
        const vmath_array *array = args;                                    \
        const elem *restrict x = array->x;                                  \
        elem *restrict y = array->y;                                        \
        for (int64_t i = begin; i < end; ++i)                               \
            y[i] = VMATH(name)(x[i]);                                       \
    }

VMATH_EACH(ARRAY_FUNCTION)

#undef ARRAY_FUNCTION

#endif
