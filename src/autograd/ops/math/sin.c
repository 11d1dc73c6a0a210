#include "autograd/ops/elementwise.h"

/* The sine, torch.sin.
 *
 *     y  = sin x
 *     dx = dy cos x
 *
 * x has any shape, in radians. The node saves x: y gives the cosine only up to its sign. */

KERNEL_TABLE_FLOAT(sin);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_cos(x));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_sin = { .name = "sin", .backward = backward };

adz_tensor *adz_sin(adz_tensor *x)
{
    return adzi_unary(&adzi_op_sin, x, sin_kernels, ADZI_SAVES_X);
}
