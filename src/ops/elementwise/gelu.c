#include "autograd/operator.h"
#include "ops/elementwise/elementwise.h"

#include <math.h>

/* The Gaussian error linear unit, torch.nn.functional.gelu (Hendrycks and Gimpel, 2016).
 *
 *     none: y  = x Phi(x),   Phi(x) = (1 + erf(x / sqrt(2))) / 2
 *           dx = dy (Phi(x) + x phi(x)),   phi(x) = e^(-x^2 / 2) / sqrt(2 pi)
 *
 *     tanh: y  = x (1 + t) / 2,   t = tanh(u),   u = sqrt(2 / pi) (x + 0.044715 x^3)
 *           dx = dy ((1 + t) / 2 + x (1 - t^2) u' / 2),   u' = sqrt(2 / pi) (1 + 3 * 0.044715 x^2)
 *
 * x has any shape, f32 or f64. Phi is the distribution function of the normal distribution and phi
 * its density. The node saves x, since y does not determine it, and keeps the choice of the formula
 * as an attribute. */

KERNEL_TABLE_FLOAT(gelu);
KERNEL_TABLE_FLOAT(gelu_tanh);
KERNEL_TABLE_FLOAT(gelu_backward);
KERNEL_TABLE_FLOAT(gelu_tanh_backward);

#define SQRT_HALF  0.7071067811865475244  /* 1 / sqrt(2) */
#define TANH_SLOPE 0.79788456080286535588 /* sqrt(2 / pi) */
#define TANH_CUBE  0.044715 /* from the paper, where the formula with tanh approximates Phi */

typedef struct {
    adz_gelu_approximate approximate;
} gelu_attr;

static bool is_tanh(const adzi_node *node)
{
    return adzi_attr(node, gelu_attr)->approximate == ADZ_GELU_TANH;
}

/* One kernel per formula computes the derivative and the product in one pass. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_kernel *kernels = is_tanh(node) ? gelu_tanh_backward_kernels[adzi_cpu_level]
                                               : gelu_backward_kernels[adzi_cpu_level];
    return adzi_fused1(node, dx, dy[0], adzi_saved_input(node, 0), kernels);
}

static const char *const approximations[] = { "none", "tanh", NULL };
/* x from -40 to 40, and these bounds for finite numbers beyond. Infinity and NaN stay what they
 * are, also in derivatives. */
static adz_tensor *limited(adz_tensor *x)
{
    adz_tensor *above = adz_logical_and(adz_gt_number(x, 40), adz_lt_number(x, INFINITY));
    adz_tensor *below = adz_logical_and(adz_lt_number(x, -40), adz_gt_number(x, -INFINITY));
    return adz_masked_fill(adz_masked_fill(x, above, 40), below, -40);
}

/* The forward as an expression, by the formula that was chosen. (1 + t) / 2 is the sigmoid of 2 u,
 * and 1 + erf is erfc of the opposite: the sums would cancel where x is below 0. The sigmoid is 1
 * or 0 where |x| is above 40. Without the limit x^3 could overflow there, and a derivative would be
 * infinity times 0. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const gelu_attr *at = attr;
    adz_tensor *x = in[0], *cdf;
    if (at->approximate == ADZ_GELU_TANH) {
        adz_tensor *z = limited(x);
        adz_tensor *cube = adz_mul_number(adz_mul(adz_mul(z, z), z), TANH_CUBE);
        cdf = adz_sigmoid(adz_mul_number(adz_add(z, cube), 2 * TANH_SLOPE));
    } else {
        cdf = adz_mul_number(adz_erfc(adz_mul_number(x, -SQRT_HALF)), 0.5);
    }
    y[0] = adz_mul(x, cdf);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD_ENUM(gelu_attr, approximate, approximations) };

const adzi_op adzi_op_gelu = { .name = "gelu",
    .backward = adzi_derived_slope,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

static adz_tensor *recompute(adzi_node *node)
{
    return adz_gelu(adzi_saved_input(node, 0), adzi_attr(node, gelu_attr)->approximate);
}

/* The formula chooses among the kernels, which no column of the table does. */
#define GELU_FORM(name)                                                                           \
    {                                                                                             \
        .op = &adzi_op_gelu, ADZI_KERNELS(name), .types = ADZI_ONLY_FLOAT, .saves = ADZI_SAVES_X, \
        .attr_size = sizeof(gelu_attr), .recompute = recompute                                    \
    }
static const adzi_elementwise forms[] = { GELU_FORM(gelu), GELU_FORM(gelu_tanh) };

adz_tensor *adz_gelu(adz_tensor *x, adz_gelu_approximate approximate)
{
    if (approximate != ADZ_GELU_NONE && approximate != ADZ_GELU_TANH) {
        return adzi_fail("gelu", ADZ_ERR_ARGUMENT,
            "approximate is %d; ADZ_GELU_NONE and ADZ_GELU_TANH are known", (int)approximate);
    }
    const gelu_attr attr = { approximate };
    return adzi_call1(&forms[approximate == ADZ_GELU_TANH], x, NULL, &attr, false);
}
