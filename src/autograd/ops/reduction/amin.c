#include "autograd/ops/reduction/extreme.h"

const adzi_op adzi_op_amin = {
    .name = "amin", .backward = adzi_extreme_backward, ADZI_FIELDS(adzi_extreme_fields)
};

adz_tensor *adz_amin(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adzi_extreme(&adzi_op_amin, ADZI_SMALLEST, x, dims, keepdim, false);
}
