#include "ops/reduction/extreme.h"

/* The index of the first smallest element, torch.argmin.
 *
 *     y = the least i with x_i = min_j x_j
 *
 * y is i64 and counts along one dimension, or through all elements in row-major order. The first
 * NaN counts as the smallest element. Not differentiable. */

const adzi_op adzi_op_argmin = {
    .name = "argmin", ADZI_EXTREME_MEMBERS, .shape_rule = adzi_extreme_index_shape
};

adz_tensor *adz_argmin(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_extreme_attr attr = { .keepdim = keepdim, .smallest = true };
    return adzi_extreme_index_dims("argmin", x, dims, &attr)
               ? ADZI_RUN(argmin, adzi_extreme_index_launch, &attr, x)
               : NULL;
}
