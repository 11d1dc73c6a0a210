#include <float.h>

#include "autograd/op.h"
#include "autograd/ops/norm/layer_norm.h"

/* Rows divided by the root of their mean square, torch.nn.functional.rms_norm:
 * y = x / sqrt(mean(x^2) + eps) * weight. The code is that of layer_norm with a mean of 0. */

const adzi_op adzi_op_rms_norm = { .name = "rms_norm",
    .fused = adzi_row_norm_fused,
    ADZI_FIELDS(adzi_row_norm_fields),
    .expression = adzi_row_norm_expression };

adz_tensor *adz_rms_norm(adz_tensor *x, adz_shape normalized, adz_tensor *weight, double eps)
{
    if (!adzi_check_tensor("rms_norm", "x", x)) {
        return NULL;
    }
    if (eps == ADZ_EPS_OF_DTYPE) {
        eps = x->dtype == ADZ_F32 ? FLT_EPSILON : DBL_EPSILON;
    }
    return adzi_row_norm(&adzi_op_rms_norm, true, x, normalized, weight, ADZ_NONE, eps);
}
