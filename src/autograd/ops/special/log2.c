#include "autograd/ops/elementwise.h"

/* The logarithm to base 2, torch.log2.
 *
 *     y  = log x / log 2
 *     dx = dy / (x log 2)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(log2);

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    y[0] = adz_mul_number(adz_log(in[0]), 1.4426950408889634);
    return adzi_status(y[0]);
}

const adzi_op adzi_op_log2 = { .name = "log2", .expression = expression };

adz_tensor *adz_log2(adz_tensor *x)
{
    return adzi_unary(&adzi_op_log2, x, log2_kernels, ADZI_SAVES_X);
}
