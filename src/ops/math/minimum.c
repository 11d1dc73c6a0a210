#include "ops/math/maximum.h"

/* The smaller of two tensors, torch.minimum.
 *
 *     y  = min(a, b)
 *     da = dy where a < b, dy / 2 where a = b, else 0
 *     db = dy where b < a, dy / 2 where a = b, else 0
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. If a or b is NaN,
 * y is NaN. The node saves both inputs, because each gradient compares them. */

KERNEL_TABLE_ALL(minimum);
KERNEL_TABLE_FLOAT(minimum_backward);

/* The expression, which can be differentiated again: an input loses where the other one is smaller.
 */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_extremum_backward(node, dx, dy, adz_gt);
}

/* Runs when nobody will differentiate the backward: one pass per input instead of several. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_extremum_fused(node, dx, dy, minimum_backward_kernels);
}

const adzi_op adzi_op_minimum = { .name = "minimum", .backward = backward, .fused = fused };

adz_tensor *adz_minimum(adz_tensor *a, adz_tensor *b)
{
    return adzi_extremum(&adzi_op_minimum, a, b, minimum_kernels);
}
