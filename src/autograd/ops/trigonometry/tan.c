#include "autograd/ops/elementwise.h"

/* The tangent, torch.tan.
 *
 *     y  = sin x / cos x
 *     dx = dy (1 + y^2)
 *
 * x has any shape. The node saves y. */

KERNEL_TABLE_FLOAT(tan);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_mul(dy[0], adz_add_number(adz_mul(y, y), 1));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_tan = { .name = "tan", .backward = backward };

adz_tensor *adz_tan(adz_tensor *x)
{
    return adzi_unary(&adzi_op_tan, x, tan_kernels, ADZI_SAVES_Y);
}
