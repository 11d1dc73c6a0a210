#include <math.h>

#include "ops/activation/activation.h"

/* A smooth rectifier, torch.nn.functional.softplus.
 *
 *     y  = log(1 + e^(beta x)) / beta where beta x <= threshold, else x
 *     dx = dy sigmoid(beta x)         where beta x <= threshold, else dy
 *
 * x has any shape, f32 or f64. Above PyTorch's default threshold of 20, log(1 + e^z)
 * exceeds z by less than e^-20, about 2e-9. The node saves x and keeps beta and threshold as
 * attributes. */

KERNEL_TABLE_FLOAT(softplus);
KERNEL_TABLE_FLOAT(softplus_backward);

typedef struct {
    double beta, threshold; /* the sharpness of the bend; the value of beta x above which y is x */
} softplus_attr;

/* The numbers that the kernels read as p. 1 / beta is computed once here and not per element. */
#define SOFTPLUS_NUMBERS(at) \
    ((double[ADZI_POINTWISE_PARAMS]){ (at)->beta, (at)->threshold, 1 / (at)->beta })

/* One kernel computes the sigmoid and the product in one pass. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_activate_fused(node, dx, dy[0], softplus_backward_kernels[adzi_cpu_level],
        SOFTPLUS_NUMBERS(adzi_attr(node, softplus_attr)));
}

/* The sigmoid is taken of min(beta x, threshold). No gradient flows through it where beta x equals
 * the threshold, so that the second derivative exactly there is 0, as in PyTorch. */
/* Third formula: PyTorch's second derivative at the threshold is 0, that of the expression not. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const softplus_attr *at = adzi_attr(node, softplus_attr);
    const double threshold = at->threshold;
    adz_tensor *scaled = adz_mul_number(adzi_saved_input(node, 0), at->beta);
    adz_tensor *limited = adz_masked_fill(scaled, adz_ge_number(scaled, threshold), threshold);
    adz_tensor *curved = adz_mul(dy[0], adz_sigmoid(limited));
    dx[0] = adz_where(adz_gt_number(scaled, threshold), dy[0], curved);
    return adzi_status(dx[0]);
}

/* The forward as an expression. The exponential is taken of min(beta x, threshold), so that it
 * cannot overflow where it is not used. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const softplus_attr *at = attr;
    adz_tensor *scaled = adz_mul_number(in[0], at->beta);
    adz_tensor *above = adz_gt_number(scaled, at->threshold);
    adz_tensor *limited = adz_masked_fill(scaled, above, at->threshold);
    adz_tensor *curved = adz_mul_number(adz_log1p(adz_exp(limited)), 1 / at->beta);
    y[0] = adz_where(above, in[0], curved);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(softplus_attr, beta),
    ADZI_FIELD(softplus_attr, threshold) };

const adzi_op adzi_op_softplus = { .name = "softplus",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

static adz_tensor *again(adzi_node *node)
{
    const softplus_attr *at = adzi_attr(node, softplus_attr);
    return adz_softplus(adzi_saved_input(node, 0), at->beta, at->threshold);
}

/* A negative beta is allowed, as in PyTorch. */
adz_tensor *adz_softplus(adz_tensor *x, double beta, double threshold)
{
    if (!isfinite(beta) || beta == 0) {
        return adzi_fail("softplus", ADZ_ERR_ARGUMENT,
            "beta is %s; a finite number other than 0 is needed", adzi_text_number(beta));
    }
    const softplus_attr attr = { beta, threshold };
    return adzi_activate(&adzi_op_softplus, x, softplus_kernels[adzi_cpu_level],
        SOFTPLUS_NUMBERS(&attr), &attr, sizeof attr, again);
}
