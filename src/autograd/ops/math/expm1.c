#include "autograd/ops/elementwise.h"

/* The exponential function minus 1, accurate for x near 0: torch.expm1.
 *
 *     y  = e^x - 1
 *     dx = dy (y + 1)
 *
 * x has any shape. The node saves y, because y + 1 is the derivative without a second exponential.
 */

KERNEL_TABLE_FLOAT(expm1);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_mul(dy[0], adz_add_number(y, 1));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_expm1 = { .name = "expm1", .backward = backward };

adz_tensor *adz_expm1(adz_tensor *x)
{
    return adzi_unary(&adzi_op_expm1, x, expm1_kernels, ADZI_SAVES_Y);
}
