#include "ops/pool/adaptive_pool.h"

/* Means of windows that divide volumes into a given number of parts,
 * torch.nn.functional.adaptive_avg_pool3d. The code for all dimensions is in adaptive_pool.c. */

const adzi_op adzi_op_adaptive_avg_pool3d = { .name = "adaptive_avg_pool3d",
    .fused = adzi_adaptive_avg_fused,
    ADZI_ATTRIBUTES(adzi_adaptive_attr, adzi_adaptive_fields),
    .expression = adzi_adaptive_avg_expression,
    .shape_rule = adzi_adaptive_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_adaptive_avg_pool3d(adz_tensor *x, adz_shape output_size)
{
    return adzi_adaptive_avg(&adzi_op_adaptive_avg_pool3d, x, 3, output_size);
}
