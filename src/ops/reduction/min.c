#include "ops/reduction/extreme.h"

/* The smallest element, torch.min: of the whole tensor, or along one dimension with its index.
 *
 *     y    = min_i x_i
 *     dx_i = dy / c where x_i = y (whole tensor, c ties)
 *     dx_i = dy where i = index   (along a dimension)
 *
 * For the whole tensor the node saves x and y, along a dimension only the indices. The two rules of
 * the gradient are PyTorch's. */

const adzi_op adzi_op_min = { .name = "min",
    .backward = adzi_extreme_backward,
    .fused = adzi_extreme_fused,
    ADZI_EXTREME_VALUE_MEMBERS };

/* If the minimum is NaN, the NaN elements share the gradient. */
adz_tensor *adz_min(adz_tensor *x)
{
    adzi_extreme_attr attr = { .nan_is_it = true, .smallest = true };
    return adzi_extreme_dims("min", x, ADZ_ALL_DIMS, &attr)
               ? ADZI_RUN(min, adzi_extreme_launch, &attr, x)
               : NULL;
}

/* `indices` is i64 and may be NULL. Among equal elements the first one counts. */
adz_tensor *adz_min_dim(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices)
{
    ADZI_COMPOSED();
    const adzi_extreme_attr attr = { .keepdim = keepdim, .dim = dim, .smallest = true };
    return adzi_extreme_dim(&adzi_op_min, attr, x, indices);
}
