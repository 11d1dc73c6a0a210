/* Kernels of logarithms, powers of 2, the error function and the gamma function.
 *
 * A unit is one element. All but polygamma are branch-free and vectorise; their error bounds are in
 * tensor/kernel/vmath.h. */
#ifndef elem
#define THIS_FILE "autograd/ops/special/special.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(digamma, elem, elem, VMATH(digamma)(x))
POINTWISE1(erfc, elem, elem, VMATH(erfc)(x))
POINTWISE1(exp2, elem, elem, VMATH(exp2)(x))
POINTWISE1(lgamma, elem, elem, VMATH(lgamma)(x))
POINTWISE1(log10, elem, elem, VMATH(log10)(x))
POINTWISE1(log2, elem, elem, VMATH(log2)(x))
POINTWISE2(logaddexp, elem, elem, elem, VMATH(logaddexp)(a, b))
POINTWISE1(polygamma, elem, elem, VMATH(polygamma)((int)p[0], x))

#endif
