#include "ops/math/division.h"

#include "ops/numbers.h"

/* The remainder of a division whose quotient is rounded down, torch.remainder.
 *
 *     y  = a - b floor(a / b), with the sign of b, as Python's %
 *     da = dy,   db = -dy floor(a / b) = -dy (a - y) / b
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. The node saves
 * both, and y, if b wants a gradient. */

KERNEL_TABLE_ALL(remainder);

const adzi_op adzi_op_remainder = { .name = "remainder", .backward = adzi_remainder_backward };

adz_tensor *adz_remainder(adz_tensor *a, adz_tensor *b)
{
    return adzi_remainder_of(&adzi_op_remainder, a, b, remainder_kernels);
}

adz_tensor *adz_remainder_number(adz_tensor *a, double number)
{
    return adz_remainder(a, adzi_number("remainder", a, number));
}
