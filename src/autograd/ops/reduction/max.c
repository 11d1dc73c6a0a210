#include "autograd/ops/reduction/extreme.h"

const adzi_op adzi_op_max = { .name = "max",
    .backward = adzi_extreme_backward,
    .fused = adzi_extreme_fused,
    ADZI_FIELDS(adzi_extreme_fields) };

adz_tensor *adz_max(adz_tensor *x)
{
    return adzi_extreme(&adzi_op_max, ADZI_LARGEST, x, ADZ_ALL_DIMS, ADZ_DROPDIM, true);
}

adz_tensor *adz_max_dim(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices)
{
    return adzi_extreme_dim(&adzi_op_max, ADZI_LARGEST, x, dim, keepdim, indices);
}
