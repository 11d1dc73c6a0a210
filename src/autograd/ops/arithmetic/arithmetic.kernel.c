/* Kernels of sums, differences, products and quotients. Integers are computed in unsigned integers
 * of 64 bits, in which overflow wraps. The bools' kernels of neg, addcmul and of differences are
 * never called. */
#ifndef elem
#define THIS_FILE "autograd/ops/arithmetic/arithmetic.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if ELEM_IS_BOOL
UNROLLED_POINTWISE2(add, elem, elem, elem, a | b)
UNROLLED_POINTWISE2(add_scaled, elem, elem, elem, a | (b && p[0] != 0))
UNROLLED_POINTWISE2(mul, elem, elem, elem, a &b)
#elif ELEM_IS_FLOAT
UNROLLED_POINTWISE2(add, elem, elem, elem, a + b)
UNROLLED_POINTWISE2(add_scaled, elem, elem, elem, a + ELEM(p[0]) * b)
UNROLLED_POINTWISE2(mul, elem, elem, elem, a *b)
#else
UNROLLED_POINTWISE2(add, elem, elem, elem, (uint64_t)a + (uint64_t)b)
UNROLLED_POINTWISE2(
    add_scaled, elem, elem, elem, (uint64_t)a + (uint64_t)(int64_t)p[0] * (uint64_t)b)
UNROLLED_POINTWISE2(mul, elem, elem, elem, (uint64_t)a *(uint64_t)b)
#endif

#if ELEM_IS_FLOAT
UNROLLED_POINTWISE1(neg, elem, elem, -x)
UNROLLED_POINTWISE2(sub, elem, elem, elem, a - b)
UNROLLED_POINTWISE2(sub_scaled, elem, elem, elem, a - ELEM(p[0]) * b)
POINTWISE2(div, elem, elem, elem, a / b)
POINTWISE3(addcmul, elem, elem, elem, elem, a + ELEM(p[0]) * b * c)
#else
UNROLLED_POINTWISE1(neg, elem, elem, 0 - (uint64_t)x)
UNROLLED_POINTWISE2(sub, elem, elem, elem, (uint64_t)a - (uint64_t)b)
UNROLLED_POINTWISE2(
    sub_scaled, elem, elem, elem, (uint64_t)a - (uint64_t)(int64_t)p[0] * (uint64_t)b)
POINTWISE3(addcmul, elem, elem, elem, elem,
    (uint64_t)a + (uint64_t)(int64_t)p[0] * (uint64_t)b * (uint64_t)c)
#endif

#endif
