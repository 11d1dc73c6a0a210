#include "autograd/ops/reduction/truth.h"

KERNEL_TABLE_ALL(all_reduce);
KERNEL_TABLE_ALL(all_combine);

const adzi_op adzi_op_all = { .name = "all" };

adz_tensor *adz_all(adz_tensor *x, adz_dims dims, bool keepdim)
{
    const adzi_kernel *run = all_reduce_kernels[adzi_cpu_level];
    const adzi_kernel *join = all_combine_kernels[adzi_cpu_level];
    return adzi_truth(&adzi_op_all, x, dims, keepdim, run, join);
}
