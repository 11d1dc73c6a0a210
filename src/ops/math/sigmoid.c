#include "ops/elementwise.h"

/* The logistic function, torch.sigmoid.
 *
 *     y  = 1 / (1 + e^-x)
 *     dx = dy y (1 - y)
 *
 * x has any shape. The node saves y, so that the gradient needs no second exponential. */

KERNEL_TABLE_PRODUCT(sigmoid);
KERNEL_TABLE_PRODUCT(sigmoid_backward);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_mul(dy[0], adz_mul(y, adz_number_sub(1, y)));
    return adzi_status(dx[0]);
}

/* One kernel computes the product of the three factors in one pass, over dy itself where the engine
 * is its only owner. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_unary_fused_of_result(node, dx, dy[0], sigmoid_backward_kernels);
}

const adzi_op adzi_op_sigmoid = { .name = "sigmoid", .backward = backward, .fused = fused };

adz_tensor *adz_sigmoid(adz_tensor *x)
{
    return adzi_unary(&adzi_op_sigmoid, x, sigmoid_kernels, ADZI_SAVES_Y);
}
