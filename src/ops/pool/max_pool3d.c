#include "ops/pool/max_pool.h"

/* The largest element of each window of volumes, and its index, torch.nn.functional.max_pool3d:
 * x[N, C, D, H, W], or without N. The code of all max pools is in max_pool.c. */

const adzi_op adzi_op_max_pool3d = { .name = "max_pool3d",
    .backward = adzi_max_pool_backward,
    .fused = adzi_max_pool_fused,
    ADZI_ATTRIBUTES(adzi_window_attr, adzi_max_pool_fields),
    .shape_rule = adzi_window_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_max_pool3d(
    adz_tensor *x, adz_shape kernel_size, const adz_max_pool_options *options, adz_tensor **indices)
{
    return adzi_max_pool(&adzi_op_max_pool3d, x, 3, kernel_size, options, indices);
}
