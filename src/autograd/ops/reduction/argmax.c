#include "autograd/ops/reduction/extreme.h"

const adzi_op adzi_op_argmax = { .name = "argmax" };

adz_tensor *adz_argmax(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adzi_extreme_place(&adzi_op_argmax, ADZI_LARGEST, x, dims, keepdim);
}
