#include "autograd/ops/rounding/division.h"

#include "autograd/ops/numbers.h"

/* The remainder of a division whose quotient is rounded down, torch.remainder.
 *
 *     y  = a - b floor(a / b), with the sign of b, as Python's %
 *     da = dy,   db = -dy floor(a / b)
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. The node saves
 * both if b wants a gradient. */

KERNEL_TABLE_ALL(remainder);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_remainder_backward(node, dx, dy, adz_floor);
}

const adzi_op adzi_op_remainder = { .name = "remainder", .backward = backward };

adz_tensor *adz_remainder(adz_tensor *a, adz_tensor *b)
{
    return adzi_remainder_of(&adzi_op_remainder, a, b, remainder_kernels);
}

adz_tensor *adz_remainder_number(adz_tensor *a, double number)
{
    return adz_remainder(a, adzi_number("remainder", a, number));
}
