#include "autograd/ops/elementwise.h"

/* The logarithm of a sum of exponentials, torch.logaddexp.
 *
 *     y  = log(e^a + e^b) = max(a, b) + log(1 + e^-|a - b|)
 *     da = dy / (1 + e^(b - a)),   db = dy / (1 + e^(a - b))
 *
 * a and b have any shapes that broadcast to y. The node saves both. */

KERNEL_TABLE_FLOAT(logaddexp);

/* The difference of equal infinities would be NaN. The maximum gives either of two equal operands
 * half of the gradient. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    adz_tensor *apart = adz_masked_fill(adz_sub(in[0], in[1]), adz_eq(in[0], in[1]), 0);
    (void)attr;
    y[0] = adz_add(adz_maximum(in[0], in[1]), adz_log1p(adz_exp(adz_neg(adz_abs(apart)))));
    return adzi_status(y[0]);
}

const adzi_op adzi_op_logaddexp = { .name = "logaddexp", .expression = expression };

adz_tensor *adz_logaddexp(adz_tensor *a, adz_tensor *b)
{
    return adzi_binary(&adzi_op_logaddexp, a, b, logaddexp_kernels);
}
