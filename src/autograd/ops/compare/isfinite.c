#include "autograd/ops/compare/compare.h"

KERNEL_TABLE_ALL(isfinite);

const adzi_op adzi_op_isfinite = { .name = "isfinite" };

adz_tensor *adz_isfinite(adz_tensor *x)
{
    return adzi_test(&adzi_op_isfinite, x, isfinite_kernels);
}
