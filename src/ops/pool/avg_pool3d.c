#include "ops/pool/avg_pool.h"

/* The mean of each window of volumes, torch.nn.functional.avg_pool3d: x[N, C, D, H, W], or without
 * N. The code of all mean pools is in avg_pool.c. */

const adzi_op adzi_op_avg_pool3d = { .name = "avg_pool3d",
    .fused = adzi_avg_pool_fused,
    ADZI_ATTRIBUTES(adzi_window_attr, adzi_avg_pool_fields),
    .expression = adzi_avg_pool_expression,
    .shape_rule = adzi_window_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_avg_pool3d(
    adz_tensor *x, adz_shape kernel_size, const adz_avg_pool_options *options)
{
    return adzi_avg_pool(&adzi_op_avg_pool3d, x, 3, kernel_size, options);
}
