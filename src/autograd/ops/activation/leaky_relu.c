#include "autograd/ops/activation/activation.h"

/* The leaky rectified linear unit, torch.nn.functional.leaky_relu.
 *
 *     y  = x where x > 0, else negative_slope x
 *     dx = dy where x > 0, else negative_slope dy
 *
 * x has any shape, f32 or f64. The node saves x and keeps the slope as an attribute. y would not
 * do: with a negative slope it does not tell the sign of x. At exactly 0 the gradient is
 * negative_slope dy, as in PyTorch. */

KERNEL_TABLE_FLOAT(leaky_relu);
KERNEL_TABLE_FLOAT(leaky_relu_backward);

typedef struct {
    double negative_slope;
} leaky_relu_attr;

/* The kernel reads the slope as p[0]. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_activate_fused(node, dx, dy[0], leaky_relu_backward_kernels[adzi_cpu_level],
        (double[ADZI_POINTWISE_PARAMS]){ adzi_attr(node, leaky_relu_attr)->negative_slope });
}

/* The derivative, 1 or the slope, is piecewise constant, so only dy carries a graph. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const leaky_relu_attr *at = adzi_attr(node, leaky_relu_attr);
    const adz_dtype dtype = (adz_dtype)dy[0]->dtype;
    adz_tensor *slope = adz_where(adz_gt_number(adzi_saved_input(node, 0), 0), adz_scalar(1, dtype),
        adz_scalar(at->negative_slope, dtype));
    dx[0] = adz_mul(dy[0], slope);
    return adzi_status(dx[0]);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const leaky_relu_attr *at = attr;
    y[0] = adz_where(adz_gt_number(in[0], 0), in[0], adz_mul_number(in[0], at->negative_slope));
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(leaky_relu_attr, negative_slope) };

const adzi_op adzi_op_leaky_relu = { .name = "leaky_relu",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

adz_tensor *adz_leaky_relu(adz_tensor *x, double negative_slope)
{
    const leaky_relu_attr attr = { negative_slope };
    return adzi_activate(&adzi_op_leaky_relu, x, leaky_relu_kernels[adzi_cpu_level],
        (double[ADZI_POINTWISE_PARAMS]){ negative_slope }, &attr, sizeof attr);
}
