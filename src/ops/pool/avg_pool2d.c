#include "ops/pool/avg_pool.h"

const adzi_op adzi_op_avg_pool2d = { .name = "avg_pool2d",
    .fused = adzi_avg_pool_fused,
    .fields = adzi_avg_pool_fields,
    .n_fields = ADZI_AVG_POOL_FIELDS,
    .expression = adzi_avg_pool_expression };

adz_tensor *adz_avg_pool2d(
    adz_tensor *x, adz_shape kernel_size, const adz_avg_pool_options *options)
{
    return adzi_avg_pool(&adzi_op_avg_pool2d, x, 2, kernel_size, options);
}
