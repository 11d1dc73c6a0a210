#include "autograd/ops/elementwise.h"

/* One divided by the square root, torch.rsqrt.
 *
 *     y  = 1 / sqrt(x)
 *     dx = -dy y^3 / 2
 *
 * x has any shape; y is inf at 0 and NaN below. The node saves y, so that the gradient needs
 * products alone. */

KERNEL_TABLE_FLOAT(rsqrt);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_mul(adz_mul_number(dy[0], -0.5), adz_mul(y, adz_mul(y, y)));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_rsqrt = { .name = "rsqrt", .backward = backward };

adz_tensor *adz_rsqrt(adz_tensor *x)
{
    return adzi_unary(&adzi_op_rsqrt, x, rsqrt_kernels, ADZI_SAVES_Y);
}
