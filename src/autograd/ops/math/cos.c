#include "autograd/ops/elementwise.h"

/* The cosine, torch.cos.
 *
 *     y  = cos x
 *     dx = -dy sin x
 *
 * x has any shape, in radians. The node saves x: y gives the sine only up to its sign. */

KERNEL_TABLE_FLOAT(cos);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_neg(adz_mul(dy[0], adz_sin(x)));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_cos = { .name = "cos", .backward = backward };

adz_tensor *adz_cos(adz_tensor *x)
{
    return adzi_unary(&adzi_op_cos, x, cos_kernels, ADZI_SAVES_X);
}
