/* Kernels of lerp and lerp_number.
 *
 * A unit is one element. y = from + factor (end - start), where from is the start with the factor
 * weight for weights below 1/2, and else the end with the factor weight - 1.
 *
 * Where end - start is infinite, y = (1 - weight) start + weight end: finite ends of opposite signs
 * may be far apart. A factor of 0 then gives `from`, and equal infinities give themselves. NaN
 * stays NaN. */
#ifndef elem
#define THIS_FILE "ops/elementwise/lerp.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

static inline elem KERNEL(between)(elem start, elem end, elem weight)
{
    const int near = VMATH(abs)(weight) < ELEM(0.5);
    const elem step = end - start, from = near ? start : end;
    const elem factor = near ? weight : weight - ELEM(1), close = from + factor * step;
    const elem far = (ELEM(1) - weight) * start + weight * end;
    const int known = (start == start) & (end == end), same = (factor == 0) | (start == end);
    return step - step == 0 ? close : known & same ? from : far;
}

POINTWISE3(lerp, elem, elem, elem, elem, KERNEL(between)(a, b, c))
POINTWISE2(lerp_number, elem, elem, elem, KERNEL(between)(a, b, ELEM(p[0])))

#endif
