#include <math.h>

#include "autograd/ops/activation/activation.h"

KERNEL_TABLE_FLOAT(softplus);
KERNEL_TABLE_FLOAT(softplus_backward);

typedef struct {
    double beta, threshold;
} softplus_attr;

/* What the kernels read as p. */
#define SOFTPLUS_NUMBERS(at) \
    ((double[ADZI_POINTWISE_PARAMS]){ (at)->beta, (at)->threshold, 1 / (at)->beta })

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_activate_fused(node, dx, dy[0], softplus_backward_kernels[adzi_cpu_level],
        SOFTPLUS_NUMBERS(adzi_attr(node, softplus_attr)));
}

/* dx = sigmoid(beta x) dy, and dy itself above the threshold. From the threshold on a constant
 * stands for beta x, so that the second derivative exactly there is 0, as in PyTorch. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const softplus_attr *at = adzi_attr(node, softplus_attr);
    const double threshold = at->threshold;
    adz_tensor *scaled = adz_mul_number(adzi_saved_input(node, 0), at->beta);
    adz_tensor *held = adz_masked_fill(scaled, adz_ge_number(scaled, threshold), threshold);
    adz_tensor *curved = adz_mul(dy[0], adz_sigmoid(held));
    dx[0] = adz_where(adz_gt_number(scaled, threshold), dy[0], curved);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(softplus_attr, beta),
    ADZI_FIELD(softplus_attr, threshold) };

const adzi_op adzi_op_softplus = {
    .name = "softplus", .backward = backward, .fused = fused, ADZI_FIELDS(fields)
};

adz_tensor *adz_softplus(adz_tensor *x, double beta, double threshold)
{
    if (!isfinite(beta) || beta == 0) {
        return adzi_fail("softplus", ADZ_ERR_ARGUMENT,
            "beta is %s; a finite number other than 0 is needed", adzi_text_number(beta));
    }
    const softplus_attr attr = { beta, threshold };
    return adzi_activate(&adzi_op_softplus, x, softplus_kernels[adzi_cpu_level],
        SOFTPLUS_NUMBERS(&attr), &attr, sizeof attr);
}
