#include "autograd/ops/elementwise.h"

/* The hyperbolic tangent, torch.tanh.
 *
 *     y  = (e^x - e^-x) / (e^x + e^-x)
 *     dx = dy (1 - y^2)
 *
 * x has any shape. The node saves y, so that the gradient needs no second exponential. */

KERNEL_TABLE_PRODUCT(tanh);
KERNEL_TABLE_PRODUCT(tanh_backward);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_mul(dy[0], adz_number_sub(1, adz_square(y)));
    return adzi_status(dx[0]);
}

/* One kernel computes the derivative and the product in one pass, over dy itself where the engine
 * is its only owner. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_unary_fused_of_result(node, dx, dy[0], tanh_backward_kernels);
}

const adzi_op adzi_op_tanh = { .name = "tanh", .backward = backward, .fused = fused };

adz_tensor *adz_tanh(adz_tensor *x)
{
    return adzi_unary(&adzi_op_tanh, x, tanh_kernels, ADZI_SAVES_Y);
}
