#include "autograd/ops/reduction/extreme.h"

const adzi_op adzi_op_amax = {
    .name = "amax", .backward = adzi_extreme_backward, ADZI_FIELDS(adzi_extreme_fields)
};

adz_tensor *adz_amax(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adzi_extreme(&adzi_op_amax, ADZI_LARGEST, x, dims, keepdim, false);
}
