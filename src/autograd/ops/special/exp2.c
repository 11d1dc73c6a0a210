#include "autograd/ops/elementwise.h"

/* Powers of 2, torch.exp2.
 *
 *     y  = 2^x
 *     dx = dy 2^x log 2
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(exp2);

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    y[0] = adz_number_pow(2, in[0]);
    return adzi_status(y[0]);
}

const adzi_op adzi_op_exp2 = { .name = "exp2", .expression = expression };

adz_tensor *adz_exp2(adz_tensor *x)
{
    return adzi_unary(&adzi_op_exp2, x, exp2_kernels, ADZI_SAVES_X);
}
