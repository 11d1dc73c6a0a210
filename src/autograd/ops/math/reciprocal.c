#include "autograd/ops/elementwise.h"

/* One divided by a tensor, torch.reciprocal.
 *
 *     y  = 1 / x
 *     dx = -dy y^2
 *
 * x has any shape. The node saves y, so that the gradient needs products alone and no division. */

KERNEL_TABLE_FLOAT(reciprocal);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_neg(adz_mul(dy[0], adz_mul(y, y)));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_reciprocal = { .name = "reciprocal", .backward = backward };

adz_tensor *adz_reciprocal(adz_tensor *x)
{
    return adzi_unary(&adzi_op_reciprocal, x, reciprocal_kernels, ADZI_SAVES_Y);
}
