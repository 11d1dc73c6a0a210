#include "ops/pool/adaptive_pool.h"

/* Largest elements of windows that divide volumes into a given number of parts, and their indices,
 * torch.nn.functional.adaptive_max_pool3d. The code for all dimensions is in adaptive_pool.c. */

const adzi_op adzi_op_adaptive_max_pool3d = { .name = "adaptive_max_pool3d",
    .backward = adzi_adaptive_max_backward,
    .fused = adzi_adaptive_max_fused,
    ADZI_ATTRIBUTES(adzi_adaptive_attr, adzi_adaptive_fields),
    .shape_rule = adzi_adaptive_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_adaptive_max_pool3d(adz_tensor *x, adz_shape output_size, adz_tensor **indices)
{
    return adzi_adaptive_max(&adzi_op_adaptive_max_pool3d, x, 3, output_size, indices);
}
