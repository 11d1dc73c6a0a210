#include "ops/reduction/attr.h"
#include "ops/reduction/truth.h"

/* True where all elements are true, torch.all.
 *
 *     y = 1 if x_i != 0 for every reduced i, else 0
 *
 * x has any shape. y is bool, or u8 if x is u8. Reduced dimensions are dropped, or have size 1 with
 * keepdim. NaN counts as true, and no elements give true. Not differentiable. */

/* The first kernel reduces elements to states, the second joins the states of blocks. */
KERNEL_TABLE_ALL(all_reduce);
KERNEL_TABLE_ALL(all_combine);

const adzi_op adzi_op_all = { .name = "all", ADZI_FIELDS(adzi_reduce_fields) };

adz_tensor *adz_all(adz_tensor *x, adz_dims dims, bool keepdim)
{
    const adzi_kernel *run = all_reduce_kernels[adzi_cpu_level];
    const adzi_kernel *join = all_combine_kernels[adzi_cpu_level];
    return adzi_truth(&adzi_op_all, x, dims, keepdim, run, join);
}
