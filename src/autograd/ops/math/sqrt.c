#include "autograd/ops/elementwise.h"

/* The square root, torch.sqrt.
 *
 *     y  = sqrt(x)
 *     dx = dy / (2 y)
 *
 * x has any shape; y is NaN where x is negative. The node saves y, so that no second root is
 * needed. At x = 0 the gradient is infinite, or NaN where dy is 0. */

KERNEL_TABLE_FLOAT(sqrt);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_div(dy[0], adz_mul_number(y, 2));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_sqrt = { .name = "sqrt", .backward = backward };

adz_tensor *adz_sqrt(adz_tensor *x)
{
    return adzi_unary(&adzi_op_sqrt, x, sqrt_kernels, ADZI_SAVES_Y);
}
