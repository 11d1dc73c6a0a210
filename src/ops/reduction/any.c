#include "ops/reduction/attr.h"
#include "ops/reduction/truth.h"

/* True where at least one element is true, torch.any.
 *
 *     y = 1 if x_i != 0 for some reduced i, else 0
 *
 * x has any shape. y is bool, or u8 if x is u8. Reduced dimensions are dropped, or have size 1 with
 * keepdim. NaN counts as true, and no elements give false. Not differentiable. */

/* The first kernel reduces elements to states, the second joins the states of blocks. */
KERNEL_TABLE_ALL(any_reduce);
KERNEL_TABLE_ALL(any_combine);

const adzi_op adzi_op_any = { .name = "any", ADZI_FIELDS(adzi_reduce_fields) };

adz_tensor *adz_any(adz_tensor *x, adz_dims dims, bool keepdim)
{
    const adzi_kernel *run = any_reduce_kernels[adzi_cpu_level];
    const adzi_kernel *join = any_combine_kernels[adzi_cpu_level];
    return adzi_truth(&adzi_op_any, x, dims, keepdim, run, join);
}
