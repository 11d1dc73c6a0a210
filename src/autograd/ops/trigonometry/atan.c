#include "autograd/ops/elementwise.h"

/* The inverse tangent, torch.atan.
 *
 *     y  = atan x, in [-pi/2, pi/2]
 *     dx = dy / (1 + x^2)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(atan);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_div(dy[0], adz_add_number(adz_mul(x, x), 1));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_atan = { .name = "atan", .backward = backward };

adz_tensor *adz_atan(adz_tensor *x)
{
    return adzi_unary(&adzi_op_atan, x, atan_kernels, ADZI_SAVES_X);
}
