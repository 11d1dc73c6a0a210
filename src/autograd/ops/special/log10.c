#include "autograd/ops/elementwise.h"

/* The logarithm to base 10, torch.log10.
 *
 *     y  = log x / log 10
 *     dx = dy / (x log 10)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(log10);

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    y[0] = adz_mul_number(adz_log(in[0]), 0.43429448190325183);
    return adzi_status(y[0]);
}

const adzi_op adzi_op_log10 = { .name = "log10", .expression = expression };

adz_tensor *adz_log10(adz_tensor *x)
{
    return adzi_unary(&adzi_op_log10, x, log10_kernels, ADZI_SAVES_X);
}
