#include "autograd/ops/elementwise.h"

/* The inverse hyperbolic sine, torch.asinh.
 *
 *     y  = log(x + sqrt(x^2 + 1))
 *     dx = dy / sqrt(x^2 + 1)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(asinh);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_rsqrt(adz_add_number(adz_mul(x, x), 1)));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_asinh = { .name = "asinh", .backward = backward };

adz_tensor *adz_asinh(adz_tensor *x)
{
    return adzi_unary(&adzi_op_asinh, x, asinh_kernels, ADZI_SAVES_X);
}
