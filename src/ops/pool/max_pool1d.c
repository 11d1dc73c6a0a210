#include "ops/pool/max_pool.h"

/* The largest element of each window of signals, and its index, torch.nn.functional.max_pool1d:
 * x[N, C, L], or without N. The code of all max pools is in max_pool.c. */

const adzi_op adzi_op_max_pool1d = { .name = "max_pool1d",
    .backward = adzi_max_pool_backward,
    .fused = adzi_max_pool_fused,
    ADZI_ATTRIBUTES(adzi_window_attr, adzi_max_pool_fields),
    .shape_rule = adzi_window_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_max_pool1d(
    adz_tensor *x, int64_t kernel_size, const adz_max_pool_options *options, adz_tensor **indices)
{
    return adzi_max_pool(&adzi_op_max_pool1d, x, 1, ADZ_SHAPE(kernel_size), options, indices);
}
