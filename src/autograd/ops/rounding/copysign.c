#include "autograd/ops/elementwise.h"

/* The magnitude of one tensor with the signs of another, torch.copysign.
 *
 *     y  = |a| where b has no sign, else -|a|
 *     da = dy sign(a) sign(b), and 0 at a = 0;   b gets no gradient
 *
 * a and b have any shapes that broadcast to y. The node saves both. */

KERNEL_TABLE_FLOAT(copysign);

/* 1 / b tells -0 from 0. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    adz_tensor *b = adz_detach(in[1]), *size = adz_abs(in[0]);
    adz_tensor *below = adz_logical_or(adz_lt_number(b, 0), adz_lt_number(adz_reciprocal(b), 0));
    (void)attr;
    y[0] = adz_where(below, adz_neg(size), size);
    return adzi_status(y[0]);
}

const adzi_op adzi_op_copysign = { .name = "copysign", .expression = expression };

adz_tensor *adz_copysign(adz_tensor *a, adz_tensor *b)
{
    return adzi_binary(&adzi_op_copysign, a, b, copysign_kernels);
}
