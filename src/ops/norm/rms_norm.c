#include <float.h>

#include "ops/op.h"
#include "ops/norm/normalise.h"
#include "ops/norm/row_norm.h"

/* Rows divided by the root of their mean square, torch.nn.functional.rms_norm (Zhang and Sennrich,
 * 2019).
 *
 *     unit    = x * rstd,   rstd = 1 / sqrt(mean(x^2) + eps)
 *     y       = unit * weight
 *
 *     dx      = rstd * (g - unit * mean(g * unit)),   g = dy * weight
 *     dweight = sum of dy * unit over the rows
 *
 * Both inputs are differentiable; the weight may be ADZ_NONE. row_norm.c checks and computes. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const adzi_row_norm_attr *at = attr;
    y[0] = adzi_scale(in[0], adzi_row_norm_dims(in[0], at), at->eps).unit;
    if (in[1] != ADZ_NONE) {
        y[0] = adz_mul(y[0], in[1]);
    }
    return adzi_status(y[0]);
}

const adzi_op adzi_op_rms_norm = { .name = "rms_norm",
    .fused = adzi_row_norm_fused,
    ADZI_ATTRIBUTES(adzi_row_norm_attr, adzi_row_norm_fields),
    .expression = expression,
    .n_inputs = 2,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL_FROM(1) };

adz_tensor *adz_rms_norm(adz_tensor *x, adz_shape normalized, adz_tensor *weight, double eps)
{
    if (!adzi_check_tensor("rms_norm", "x", x)) {
        return NULL;
    }
    if (eps == ADZ_EPS_OF_DTYPE) {
        eps = x->dtype == ADZ_F32 ? FLT_EPSILON : DBL_EPSILON;
    }
    return adzi_row_norm(&adzi_op_rms_norm, (adz_tensor *[]){ x, weight }, normalized, eps);
}
