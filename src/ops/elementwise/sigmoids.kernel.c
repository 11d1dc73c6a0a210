/* Kernels of the functions of the table whose f64 has kernels at all levels: tanh and sigmoid. They
 * wait for arithmetic and not for memory (base/isa.h). In the derivative of tanh's gradient by y, a
 * is the gradient of that gradient, b = dy and c = y. A unit is one element. */
#ifndef elem
#define THIS_FILE "ops/elementwise/sigmoids.kernel.c"
#define F64_AT_ALL_LEVELS
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

#define KERNEL1_AT_ALL_LEVELS(fn, kernel) POINTWISE1(fn, elem, elem, kernel)
#define GRADIENT_KERNEL_AT_ALL_LEVELS(fn, saved, kernel) \
    POINTWISE2(fn##_backward, elem, elem, elem, kernel)
#include "ops/elementwise/table.h"

POINTWISE3(tanh_curvature, elem, elem, elem, elem, ELEM(-2) * ((a * b) * c))

#endif
