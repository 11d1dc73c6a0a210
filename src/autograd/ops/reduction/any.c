#include "autograd/ops/reduction/truth.h"

KERNEL_TABLE_ALL(any_reduce);
KERNEL_TABLE_ALL(any_combine);

const adzi_op adzi_op_any = { .name = "any" };

adz_tensor *adz_any(adz_tensor *x, adz_dims dims, bool keepdim)
{
    const adzi_kernel *run = any_reduce_kernels[adzi_cpu_level];
    const adzi_kernel *join = any_combine_kernels[adzi_cpu_level];
    return adzi_truth(&adzi_op_any, x, dims, keepdim, run, join);
}
