#include "ops/activation/activation.h"

#include "autograd/operator.h"

/* The sigmoid linear unit, also called swish: torch.nn.functional.silu.
 *
 *     y  = x s,   s = sigmoid(x)
 *     dx = dy s (1 + x (1 - s))
 *
 * x has any shape, f32 or f64. The node saves x, because y does not determine x where x is
 * negative: the function falls and rises again. */

KERNEL_TABLE_FLOAT(silu);
KERNEL_TABLE_FLOAT(silu_backward);

/* One kernel computes s, the derivative and the product in one pass. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_activate_fused(node, dx, dy[0], silu_backward_kernels[adzi_cpu_level], NULL);
}

/* The forward as an expression: x sigmoid(x). */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    y[0] = adz_mul(in[0], adz_sigmoid(in[0]));
    return adzi_status(y[0]);
}

const adzi_op adzi_op_silu = {
    .name = "silu", .backward = adzi_derived_slope, .fused = fused, .expression = expression
};

static adz_tensor *again(adzi_node *node)
{
    return adz_silu(adzi_saved_input(node, 0));
}

adz_tensor *adz_silu(adz_tensor *x)
{
    return adzi_activate(&adzi_op_silu, x, silu_kernels[adzi_cpu_level], NULL, NULL, 0, again);
}
