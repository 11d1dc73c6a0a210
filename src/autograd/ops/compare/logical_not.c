#include "autograd/ops/compare/compare.h"

KERNEL_TABLE_ALL(logical_not);

const adzi_op adzi_op_logical_not = { .name = "logical_not" };

adz_tensor *adz_logical_not(adz_tensor *x)
{
    return adzi_test(&adzi_op_logical_not, x, logical_not_kernels);
}
