#include "ops/reduction/reduce.h"
#include "ops/reduction/variance.h"

/* The variance over dimensions, torch.var, and what std shares with it.
 *
 *     y    = sum_i (x_i - m)^2 / (n - correction),   m = mean of x
 *     dx_i = dy * 2 (x_i - m) / (n - correction)
 *
 * x has any shape and is f32 or f64. y has the sizes of x without the reduced dimensions, or with
 * size 1 there. The divisor is never below 0, so too few elements give infinity or NaN. The node
 * saves x. std saves y in addition, which its derivative divides by. */

/* The first kernel reduces elements to states, the second joins the states of blocks. */
KERNEL_TABLE_FLOAT(var_reduce);
KERNEL_TABLE_FLOAT(var_combine);

const adz_field adzi_variance_fields[3] = { ADZI_FIELD_MASK(adzi_variance_attr, mask, "dim"),
    ADZI_FIELD(adzi_variance_attr, correction), ADZI_FIELD(adzi_variance_attr, keepdim) };

/* Reduced dimensions get size 1 here, so that `t` broadcasts against x. */
adz_tensor *adzi_variance_kept(const adzi_node *node, adz_tensor *t)
{
    unsigned mask = adzi_attr(node, adzi_variance_attr)->mask;
    return adz_reshape(t, adzi_kept_shape(adzi_input_shape(node, 0), mask));
}

/* The deviations from the mean are squared and summed. Without reduced dimensions every element is
 * its own mean. */
adz_tensor *adzi_variance_expression(adz_tensor *x, const adzi_variance_attr *at)
{
    adz_dims dims = { .count = 0 };
    for (int i = 0; i < x->rank; ++i) {
        if (at->mask & (1u << i)) {
            dims.dims[dims.count++] = i;
        }
    }
    const adz_shape shape = adz_shape_of(x->rank, x->sizes);
    const double divisor = (double)adzi_reduced_count(shape, at->mask) - at->correction;
    const double factor = 1 / (divisor > 0 ? divisor : 0);
    if (dims.count == 0) {
        return adz_mul_number(adz_sub(x, x), factor);
    }
    adz_tensor *d = adz_sub(x, adz_mean(x, dims, ADZ_KEEPDIM));
    return adz_mul_number(adz_sum(adz_mul(d, d), dims, at->keepdim), factor);
}

double adzi_variance_divisor(adzi_node *node)
{
    const adzi_variance_attr *at = adzi_attr(node, adzi_variance_attr);
    double divisor = (double)adzi_reduced_count(adzi_input_shape(node, 0), at->mask);
    divisor -= at->correction;
    return divisor > 0 ? divisor : 0;
}

/* (x - m) / 2, with the mean computed again from x. It is an expression, because the mean depends
 * on x in a second derivative. The factor 1/2 is exact. With it no difference overflows, not even
 * that of elements at opposite ends of the range. */
adz_tensor *adzi_variance_deviation(adzi_node *node)
{
    const adzi_variance_attr *at = adzi_attr(node, adzi_variance_attr);
    adz_tensor *x = adzi_saved_input(node, 0);
    int dims[ADZ_MAX_RANK], n = 0;
    for (int i = 0; i < ADZ_MAX_RANK; ++i) {
        if (at->mask & (1u << i)) {
            dims[n++] = i;
        }
    }
    /* Without reduced dimensions every element is its own mean. x - x is 0, and NaN where x is not
     * finite. */
    if (n == 0) {
        return adz_add_scaled(x, x, -1);
    }
    /* If all x are far from 0, the rounding of the mean may exceed the deviations. Subtracting the
     * mean of the deviations as well removes that error. */
    adz_tensor *mean = adz_mean(x, adz_dims_of(n, dims), ADZ_KEEPDIM);
    adz_tensor *d = adz_add_scaled(adz_mul_number(mean, -0.5), x, 0.5);
    return d != NULL ? adz_add_scaled(d, adz_mean(d, adz_dims_of(n, dims), ADZ_KEEPDIM), -1) : NULL;
}

/* dx = dy * 2 (x - m) / (n - correction). dy is broadcast over the reduced dimensions. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *slope =
        adz_mul_number(adzi_variance_deviation(node), 4 / adzi_variance_divisor(node));
    dx[0] = adz_mul(adzi_variance_kept(node, dy[0]), slope);
    return adzi_status(dx[0]);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    y[0] = adzi_variance_expression(in[0], attr);
    return adzi_status(y[0]);
}

/* The state of a block is four numbers of 8 bytes: origin, offset, squares and count. */
void adzi_variance_launch(
    adz_tensor *y, const adz_tensor *x, const adzi_variance_attr *at, bool root)
{
    const adzi_reducer reducer = { KERNEL_FOR(var_reduce, x->dtype),
        KERNEL_FOR(var_combine, x->dtype), 4 * sizeof(double), { at->correction, root } };
    adzi_reduce(reducer, y, NULL, x, at->mask);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    return adzi_variance_shape("var", y, in[0], block);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    adzi_variance_launch(y[0], in[0], block, false);
}

const adzi_op adzi_op_var = { .name = "var",
    .backward = backward,
    ADZI_ATTRIBUTES(adzi_variance_attr, adzi_variance_fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .saved_inputs = 1u << 0,
    .strided_inputs = 1u << 0,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_var(adz_tensor *x, adz_dims dims, double correction, bool keepdim)
{
    adzi_variance_attr attr = { .keepdim = keepdim, .correction = correction };
    return adzi_reduce_mask("var", x, dims, &attr.mask) ? ADZI_RUN(var, launch, &attr, x) : NULL;
}
