#include "autograd/ops/elementwise.h"

/* The logarithm of the gamma function, torch.lgamma.
 *
 *     y  = log |gamma(x)|
 *     dx = dy digamma(x)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(lgamma);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_digamma(x));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_lgamma = { .name = "lgamma", .backward = backward };

adz_tensor *adz_lgamma(adz_tensor *x)
{
    return adzi_unary(&adzi_op_lgamma, x, lgamma_kernels, ADZI_SAVES_X);
}
