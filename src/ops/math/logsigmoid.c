#include "ops/elementwise.h"

/* The logarithm of the logistic function, torch.nn.functional.logsigmoid.
 *
 *     y  = log(1 / (1 + e^-x))
 *     dx = dy (1 - sigmoid(x)) = dy sigmoid(-x)
 *
 * x has any shape. The node saves x. sigmoid(-x) is used, because 1 - sigmoid(x) loses all digits
 * where x is large. */

KERNEL_TABLE_FLOAT(logsigmoid);
KERNEL_TABLE_FLOAT(logsigmoid_backward);

/* Third formula: the derived one takes 1.6 times the memory. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_sigmoid(adz_neg(x)));
    return adzi_status(dx[0]);
}

/* One kernel computes the sigmoid and the product. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_unary_fused(
        node, dx, dy[0], adzi_saved_input(node, 0), logsigmoid_backward_kernels);
}

/* The forward as an expression: min(x, 0) - log(1 + e^-|x|). */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adz_tensor *x = in[0], *low = adz_masked_fill(x, adz_ge_number(x, 0), 0);
    y[0] = adz_sub(low, adz_log1p(adz_exp(adz_neg(adz_abs(x)))));
    return adzi_status(y[0]);
}

const adzi_op adzi_op_logsigmoid = {
    .name = "logsigmoid", .backward = backward, .fused = fused, .expression = expression
};

adz_tensor *adz_logsigmoid(adz_tensor *x)
{
    return adzi_unary(&adzi_op_logsigmoid, x, logsigmoid_kernels, ADZI_SAVES_X);
}
