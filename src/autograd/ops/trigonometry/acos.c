#include "autograd/ops/elementwise.h"

/* The inverse cosine, torch.acos.
 *
 *     y  = acos x, in [0, pi]
 *     dx = -dy / sqrt(1 - x^2)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(acos);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_neg(adz_mul(dy[0], adz_rsqrt(adz_number_sub(1, adz_mul(x, x)))));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_acos = { .name = "acos", .backward = backward };

adz_tensor *adz_acos(adz_tensor *x)
{
    return adzi_unary(&adzi_op_acos, x, acos_kernels, ADZI_SAVES_X);
}
