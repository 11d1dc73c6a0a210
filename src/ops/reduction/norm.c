#include <float.h>
#include <math.h>

#include "ops/op.h"
#include "ops/reduction/attr.h"
#include "ops/reduction/reduce.h"

/* The p-norm over dimensions, torch.linalg.vector_norm.
 *
 *     y    = (sum_i |x_i|^p)^(1/p)
 *     dx_i = dy * sign(x_i) * (|x_i| / y)^(p-1)
 *
 *     p = 0:         y = number of x_i that are not 0,   dx_i = 0
 *     p = INFINITY:  y = max_i |x_i|;   p = -INFINITY:  y = min_i |x_i|
 *                    dx_i = dy * sign(x_i) / c where |x_i| = y, else 0,   c such elements
 *
 * x has any shape and is f32 or f64. y has the sizes of x without the reduced dimensions, or with
 * size 1 there. The node saves x and y: the derivative needs both, and y is small. Where y is 0 the
 * gradient is 0, which is the subgradient that PyTorch takes. */

KERNEL_TABLE_FLOAT(norm_reduce);
KERNEL_TABLE_FLOAT(norm_combine);

/* The attributes of a node. p decides which derivative the backward takes. */
typedef struct {
    double p;
    unsigned mask;
    bool keepdim;
} norm_attr;

/* The sign of each element, -1, 0 or 1. It is piecewise constant, so it is computed without a
 * graph. */
static adz_tensor *sign(adz_tensor *x)
{
    adz_tensor *above = adz_gt_number(x, 0), *below = adz_lt_number(x, 0);
    if (above == NULL || below == NULL) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)x->dtype;
    return adz_sub(adz_to(above, dtype), adz_to(below, dtype));
}

/* The derivative for an infinite p. Elements whose magnitude equals the norm get equal parts, and
 * so do NaN elements, which make the norm NaN. */
static adz_tensor *extreme_slope(adz_tensor *x, adz_tensor *y, unsigned mask)
{
    adz_tensor *hit = adz_logical_or(adz_eq(adz_abs(x), y), adz_isnan(x));
    int dims[ADZ_MAX_RANK], n = 0;
    for (int i = 0; i < ADZ_MAX_RANK; ++i) {
        if (mask & (1u << i)) {
            dims[n++] = i;
        }
    }
    adz_tensor *share = hit != NULL ? adz_to(hit, (adz_dtype)x->dtype) : NULL;
    adz_tensor *count = n > 0 ? adz_sum(share, adz_dims_of(n, dims), ADZ_KEEPDIM) : share;
    return adz_mul(sign(x), adz_div(share, count));
}

/* (x / y)^(p-1) for 0 < p < 2, where x / y may underflow although its small power does not.
 *
 *     u = (x / y)^(1/2),   v = 1 / u,   h = (p - 1) / 2
 *     (x / y)^(p-1) = (u^h * v^-h)^2
 *
 * The code multiplies x and y by the constants x^(-1/2) and y^(-1/2) to obtain u and v, which are
 * numbers of moderate size. u is linear in x and v in y, so the derivative is complete. */
static adz_tensor *small_power_of_ratio(adz_tensor *x, adz_tensor *y, double p)
{
    double most = x != NULL && x->dtype == ADZ_F32 ? FLT_MAX : DBL_MAX; /* y may be infinite */
    adz_tensor *a = adz_rsqrt(adz_detach(x)), *b = adz_rsqrt(adz_clamp(adz_detach(y), 0, most));
    adz_tensor *u = adz_mul(adz_mul(x, a), b), *v = adz_mul(adz_mul(y, b), a);
    double half = (p - 1) / 2;
    return adz_square(adz_mul(adz_pow_number(u, half), adz_pow_number(v, -half)));
}

/* (x / y)^(p-1) where neither x nor y is 0. A power of x or y alone may overflow although the
 * gradient is an ordinary number. So the quotient is raised to a power, as x / y or y / x,
 * whichever is at most 1. */
static adz_tensor *power_of_ratio(adz_tensor *x, adz_tensor *y, double p)
{
    return p > 2   ? adz_pow_number(adz_div(x, y), p - 1)
           : p < 0 ? adz_pow_number(adz_div(y, x), 1 - p)
                   : small_power_of_ratio(x, y, p);
}

/* dx = dy * sign(x) * (|x| / y)^(p-1) for finite p. It is 0 where y is 0, and for p < 2 also where
 * x is 0. There the power or its derivative is infinite. Such a base is replaced by 1 and masked
 * afterwards, so that second derivatives of other elements are not NaN. */
static adz_tensor *power_slope(adz_tensor *g, adz_tensor *x, adz_tensor *y, double p)
{
    adz_tensor *no_norm = adz_eq_number(y, 0), *norm = adz_masked_fill(y, no_norm, 1);
    if (p == 2) {
        return adz_mul(g, adz_masked_fill(adz_div(x, norm), no_norm, 0));
    }
    adz_tensor *none = p < 2 ? adz_logical_or(no_norm, adz_eq_number(x, 0)) : no_norm;
    adz_tensor *size = adz_masked_fill(adz_abs(x), none, 1);
    adz_tensor *power = power_of_ratio(size, norm, p);
    return adz_mul(g, adz_mul(sign(x), adz_masked_fill(power, none, 0)));
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const norm_attr *at = adzi_attr(node, norm_attr);
    if (at->p == 0) {
        return ADZ_OK; /* the norm is a count, which has derivative 0 */
    }
    adz_shape kept = adzi_kept_shape(adzi_input_shape(node, 0), at->mask);
    adz_tensor *x = adzi_saved_input(node, 0), *g = adz_reshape(dy[0], kept);
    /* p = 1 is frequent and needs no power: dx = dy * sign(x). */
    if (at->p == 1) {
        dx[0] = adz_mul(g, sign(x));
        return adzi_status(dx[0]);
    }
    adz_tensor *y = adz_reshape(adzi_saved_result(node, 0), kept);
    dx[0] = isinf(at->p) ? adz_mul(g, extreme_slope(x, y, at->mask)) : power_slope(g, x, y, at->p);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(norm_attr, p),
    ADZI_FIELD_MASK(norm_attr, mask, "dim"), ADZI_FIELD(norm_attr, keepdim) };

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const norm_attr *at = block;
    if (isnan(at->p)) {
        return adzi_error("norm", ADZ_ERR_ARGUMENT, "p is NaN; 2, 1 and INFINITY are usual");
    }
    adzi_reduce_shape(y, in[0], at->mask, at->keepdim);
    /* A norm of no elements is 0 for 0 <= p < INFINITY, and undefined for other p. */
    return adzi_form_status(
        (at->p >= 0 && !isinf(at->p)) || adzi_want_elements("norm", in[0], at->mask));
}

/* The state of a block is four doubles: sum, scale, extreme value and p. See Note [The scale of a
 * norm]. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const norm_attr *at = block;
    const adz_dtype dtype = (adz_dtype)in[0]->dtype;
    const adzi_reducer reducer = { KERNEL_FOR(norm_reduce, dtype), KERNEL_FOR(norm_combine, dtype),
        4 * sizeof(double), { at->p, 0 } };
    adzi_reduce(reducer, y[0], NULL, in[0], at->mask);
}

const adzi_op adzi_op_norm = { .name = "norm",
    .backward = backward,
    ADZI_ATTRIBUTES(norm_attr, fields),
    .shape_rule = shape_rule,
    .saved_inputs = 1u << 0,
    .saved_results = 1u << 0,
    .strided_inputs = 1u << 0,
    .dtypes = ADZ_DTYPES_FLOATS };

/* p may be any number but NaN, INFINITY and -INFINITY included. */
adz_tensor *adz_norm(adz_tensor *x, double p, adz_dims dims, bool keepdim)
{
    norm_attr attr = { .p = p, .keepdim = keepdim };
    return adzi_reduce_mask("norm", x, dims, &attr.mask) ? ADZI_RUN(norm, launch, &attr, x) : NULL;
}
