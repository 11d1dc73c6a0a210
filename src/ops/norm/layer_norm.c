#include "ops/op.h"
#include "ops/norm/normalise.h"
#include "ops/norm/row_norm.h"

/* Layer normalisation, torch.nn.functional.layer_norm (Ba, Kiros and Hinton, 2016).
 *
 *     m, v    = mean and variance of each row of x
 *     unit    = (x - m) * rstd,   rstd = 1 / sqrt(v + eps)
 *     y       = unit * weight + bias
 *
 *     dx      = rstd * (g - mean(g) - unit * mean(g * unit)),   g = dy * weight
 *     dweight = sum of dy * unit over the rows
 *     dbias   = sum of dy over the rows
 *
 * All three inputs are differentiable; weight and bias may be ADZ_NONE. row_norm.c checks and
 * computes. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const adzi_row_norm_attr *at = attr;
    y[0] = adzi_normalise(in[0], adzi_row_norm_dims(in[0], at), at->eps).unit;
    if (in[1] != ADZ_NONE) {
        y[0] = adz_mul(y[0], in[1]);
    }
    if (in[2] != ADZ_NONE) {
        y[0] = adz_add(y[0], in[2]);
    }
    return adzi_status(y[0]);
}

const adzi_op adzi_op_layer_norm = { .name = "layer_norm",
    .fused = adzi_row_norm_fused,
    ADZI_ATTRIBUTES(adzi_row_norm_attr, adzi_row_norm_fields),
    .expression = expression,
    .n_inputs = 3,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL_FROM(1) };

adz_tensor *adz_layer_norm(
    adz_tensor *x, adz_shape normalized, adz_tensor *weight, adz_tensor *bias, double eps)
{
    return adzi_row_norm(&adzi_op_layer_norm, (adz_tensor *[]){ x, weight, bias }, normalized, eps);
}
