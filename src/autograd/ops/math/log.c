#include "autograd/ops/elementwise.h"

KERNEL_TABLE_FLOAT(log);

/* dx = dy / x. */
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
