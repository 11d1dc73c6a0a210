#include "autograd/ops/elementwise.h"

/* The derivative of the logarithm of the gamma function, torch.digamma.
 *
 *     y  = gamma'(x) / gamma(x)
 *     dx = dy polygamma(1, x)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(digamma);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_polygamma(1, x));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_digamma = { .name = "digamma", .backward = backward };

adz_tensor *adz_digamma(adz_tensor *x)
{
    return adzi_unary(&adzi_op_digamma, x, digamma_kernels, ADZI_SAVES_X);
}
