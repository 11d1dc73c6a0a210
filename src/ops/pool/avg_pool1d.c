#include "ops/pool/avg_pool.h"

const adzi_op adzi_op_avg_pool1d = { .name = "avg_pool1d",
    .fused = adzi_avg_pool_fused,
    .fields = adzi_avg_pool_fields,
    .n_fields = ADZI_AVG_POOL_FIELDS,
    .expression = adzi_avg_pool_expression };

adz_tensor *adz_avg_pool1d(adz_tensor *x, int64_t kernel_size, const adz_avg_pool_options *options)
{
    return adzi_avg_pool(&adzi_op_avg_pool1d, x, 1, ADZ_SHAPE(kernel_size), options);
}
