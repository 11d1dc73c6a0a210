#include "autograd/ops/elementwise.h"

/* The logarithm of 1 + x, accurate for x near 0: torch.log1p.
 *
 *     y  = log(1 + x)
 *     dx = dy / (1 + x)
 *
 * x has any shape; y is -inf at -1 and NaN below. The node saves x. */

KERNEL_TABLE_FLOAT(log1p);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_div(dy[0], adz_add_number(x, 1));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_log1p = { .name = "log1p", .backward = backward };

adz_tensor *adz_log1p(adz_tensor *x)
{
    return adzi_unary(&adzi_op_log1p, x, log1p_kernels, ADZI_SAVES_X);
}
