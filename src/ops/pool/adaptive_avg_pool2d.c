#include "ops/pool/adaptive_pool.h"

/* Means of windows that divide images into a given number of parts,
 * torch.nn.functional.adaptive_avg_pool2d. The code for all dimensions is in adaptive_pool.c. */

const adzi_op adzi_op_adaptive_avg_pool2d = { .name = "adaptive_avg_pool2d",
    .fused = adzi_adaptive_avg_fused,
    ADZI_ATTRIBUTES(adzi_adaptive_attr, adzi_adaptive_fields),
    .expression = adzi_adaptive_avg_expression,
    .shape_rule = adzi_adaptive_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_adaptive_avg_pool2d(adz_tensor *x, adz_shape output_size)
{
    return adzi_adaptive_avg(&adzi_op_adaptive_avg_pool2d, x, 2, output_size);
}
