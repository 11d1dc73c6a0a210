#include "autograd/ops/elementwise.h"

/* The inverse hyperbolic tangent, torch.atanh.
 *
 *     y  = log((1 + x) / (1 - x)) / 2
 *     dx = dy / (1 - x^2)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(atanh);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_div(dy[0], adz_number_sub(1, adz_mul(x, x)));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_atanh = { .name = "atanh", .backward = backward };

adz_tensor *adz_atanh(adz_tensor *x)
{
    return adzi_unary(&adzi_op_atanh, x, atanh_kernels, ADZI_SAVES_X);
}
