#include "autograd/ops/elementwise.h"

/* The exponential function, torch.exp.
 *
 *     y  = e^x
 *     dx = dy y
 *
 * x has any shape. The node saves y, which is its own derivative. The gradient is one product,
 * which no kernel of its own could do faster, so there is no fused backward. */

KERNEL_TABLE_FLOAT(exp);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_mul(dy[0], adzi_saved_result(node, 0));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_exp = { .name = "exp", .backward = backward };

adz_tensor *adz_exp(adz_tensor *x)
{
    return adzi_unary(&adzi_op_exp, x, exp_kernels, ADZI_SAVES_Y);
}
