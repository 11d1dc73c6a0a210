#include "autograd/ops/elementwise.h"

/* The error function, torch.erf.
 *
 *     y  = 2 / sqrt(pi) * integral of e^(-t^2) for t from 0 to x
 *     dx = dy 2 / sqrt(pi) e^(-x^2)
 *
 * x has any shape. The node saves x, from which the derivative is computed. */

KERNEL_TABLE_FLOAT(erf);

/* The constant is 2 / sqrt(pi). */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_mul_number(adz_exp(adz_neg(adz_mul(x, x))), 1.12837916709551257390));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_erf = { .name = "erf", .backward = backward };

adz_tensor *adz_erf(adz_tensor *x)
{
    return adzi_unary(&adzi_op_erf, x, erf_kernels, ADZI_SAVES_X);
}
