#include "ops/reduction/variance.h"

/* The standard deviation over dimensions, torch.std.
 *
 *     y    = sqrt(sum_i (x_i - m)^2 / (n - correction)),   m = mean of x
 *     dx_i = dy * (x_i - m) / (y * (n - correction)),      0 where y = 0
 *
 * x has any shape and is f32 or f64. The node saves x and y: y is the root that the derivative
 * divides by. The forward is shared with var (variance.h). */

/* dx = dy / (n - correction) * (d / h),   d = (x - m) / 2,   h = y / 2. The quotient of d and h is
 * of moderate size at every scale of x, while dy / y and 1 / y may leave the range. Where y is 0,
 * dy is masked. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *half = adz_mul_number(adzi_saved_result(node, 0), 0.5);
    adz_tensor *none = adz_eq_number(half, 0);
    adz_tensor *g = adz_mul_number(dy[0], 1 / adzi_variance_divisor(node));
    adz_tensor *size = adzi_variance_kept(node, adz_masked_fill(half, none, 1));
    adz_tensor *ratio = adz_div(adzi_variance_deviation(node), size);
    dx[0] = adz_mul(adzi_variance_kept(node, adz_masked_fill(g, none, 0)), ratio);
    return adzi_status(dx[0]);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    y[0] = adz_sqrt(adzi_variance_expression(in[0], attr));
    return adzi_status(y[0]);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    return adzi_variance_shape("std", y, in[0], block);
}

/* The kernel takes the root, so no second pass over y is needed. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    adzi_variance_launch(y[0], in[0], block, true);
}

const adzi_op adzi_op_std = { .name = "std",
    .backward = backward,
    ADZI_ATTRIBUTES(adzi_variance_attr, adzi_variance_fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .saved_inputs = 1u << 0,
    .saved_results = 1u << 0,
    .strided_inputs = 1u << 0,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_std(adz_tensor *x, adz_dims dims, double correction, bool keepdim)
{
    adzi_variance_attr attr = { .keepdim = keepdim, .correction = correction };
    return adzi_reduce_mask("std", x, dims, &attr.mask) ? ADZI_RUN(std, launch, &attr, x) : NULL;
}
