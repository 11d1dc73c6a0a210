#include "ops/activation/activation.h"

/* The exponential linear unit, torch.nn.functional.elu.
 *
 *     y  = x where x > 0, else alpha (e^x - 1)
 *     dx = dy where x > 0, else dy alpha e^x
 *
 * x has any shape, f32 or f64. The node saves x and keeps alpha as an attribute. y would
 * not do: with a negative alpha it does not tell the sign of x. */

KERNEL_TABLE_FLOAT(elu);
KERNEL_TABLE_FLOAT(elu_backward);

typedef struct {
    double alpha; /* -alpha is the limit of y for x towards -inf */
} elu_attr;

/* The kernel reads alpha as p[0]. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_activate_fused(node, dx, dy[0], elu_backward_kernels[adzi_cpu_level],
        (double[ADZI_POINTWISE_PARAMS]){ adzi_attr(node, elu_attr)->alpha });
}

/* The exponential is taken of min(x, 0). It cannot overflow where it is not used, and where x >= 0
 * no gradient flows through it. The second derivative at exactly 0 is therefore 0, as in PyTorch.
 */
/* Third formula: PyTorch's second derivative at 0 is 0, and that of the expression is not. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    adz_tensor *below = adz_mul(dy[0], adz_exp(adz_masked_fill(x, adz_ge_number(x, 0), 0)));
    below = adz_mul_number(below, adzi_attr(node, elu_attr)->alpha);
    dx[0] = adz_where(adz_le_number(x, 0), below, dy[0]);
    return adzi_status(dx[0]);
}

/* The forward as an expression. The exponential is taken of min(x, 0), so that it cannot overflow
 * where it is not used. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const elu_attr *at = attr;
    adz_tensor *x = in[0], *low = adz_masked_fill(x, adz_ge_number(x, 0), 0);
    adz_tensor *below = adz_mul_number(adz_expm1(low), at->alpha);
    y[0] = adz_where(adz_gt_number(x, 0), x, below);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(elu_attr, alpha) };

const adzi_op adzi_op_elu = { .name = "elu",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

static adz_tensor *again(adzi_node *node)
{
    return adz_elu(adzi_saved_input(node, 0), adzi_attr(node, elu_attr)->alpha);
}

adz_tensor *adz_elu(adz_tensor *x, double alpha)
{
    const elu_attr attr = { alpha };
    return adzi_activate(&adzi_op_elu, x, elu_kernels[adzi_cpu_level],
        (double[ADZI_POINTWISE_PARAMS]){ alpha }, &attr, sizeof attr, again);
}
