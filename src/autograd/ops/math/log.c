#include "autograd/ops/elementwise.h"

/* The natural logarithm, torch.log.
 *
 *     y  = log x
 *     dx = dy / x
 *
 * x has any shape; log 0 is -inf, and the logarithm of a negative number is NaN. The node saves x,
 * because the derivative is its reciprocal. */

KERNEL_TABLE_FLOAT(log);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_div(dy[0], adzi_saved_input(node, 0));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_log = { .name = "log", .backward = backward };

adz_tensor *adz_log(adz_tensor *x)
{
    return adzi_unary(&adzi_op_log, x, log_kernels, ADZI_SAVES_X);
}
