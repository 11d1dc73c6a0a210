#include "autograd/ops/reduction/extreme.h"

const adzi_op adzi_op_argmin = { .name = "argmin" };

adz_tensor *adz_argmin(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adzi_extreme_place(&adzi_op_argmin, ADZI_SMALLEST, x, dims, keepdim);
}
