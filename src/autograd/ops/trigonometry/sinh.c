#include "autograd/ops/elementwise.h"

/* The hyperbolic sine, torch.sinh.
 *
 *     y  = (e^x - e^-x) / 2
 *     dx = dy cosh x
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(sinh);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_cosh(x));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_sinh = { .name = "sinh", .backward = backward };

adz_tensor *adz_sinh(adz_tensor *x)
{
    return adzi_unary(&adzi_op_sinh, x, sinh_kernels, ADZI_SAVES_X);
}
