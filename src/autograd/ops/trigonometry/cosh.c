#include "autograd/ops/elementwise.h"

/* The hyperbolic cosine, torch.cosh.
 *
 *     y  = (e^x + e^-x) / 2
 *     dx = dy sinh x
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(cosh);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_sinh(x));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_cosh = { .name = "cosh", .backward = backward };

adz_tensor *adz_cosh(adz_tensor *x)
{
    return adzi_unary(&adzi_op_cosh, x, cosh_kernels, ADZI_SAVES_X);
}
