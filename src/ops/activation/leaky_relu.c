#include "ops/activation/activation.h"

#include "autograd/operator.h"

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

/* The forward as an expression: x times its slope, 1 or the negative slope. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const leaky_relu_attr *at = attr;
    adz_tensor *x = in[0], *above = adz_gt_number(x, 0);
    if (above == NULL) {
        return adzi_status(NULL);
    }
    const adz_dtype dtype = (adz_dtype)x->dtype;
    adz_tensor *one = adz_scalar(1, dtype), *slope = adz_scalar(at->negative_slope, dtype);
    y[0] = adz_mul(x, adz_where(above, one, slope));
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(leaky_relu_attr, negative_slope) };

const adzi_op adzi_op_leaky_relu = { .name = "leaky_relu",
    .backward = adzi_derived_slope,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

static adz_tensor *again(adzi_node *node)
{
    return adz_leaky_relu(
        adzi_saved_input(node, 0), adzi_attr(node, leaky_relu_attr)->negative_slope);
}

adz_tensor *adz_leaky_relu(adz_tensor *x, double negative_slope)
{
    const leaky_relu_attr attr = { negative_slope };
    return adzi_activate(&adzi_op_leaky_relu, x, leaky_relu_kernels[adzi_cpu_level],
        (double[ADZI_POINTWISE_PARAMS]){ negative_slope }, &attr, sizeof attr, again);
}
