#include "ops/reduction/extreme.h"

/* The index of the first largest element, torch.argmax.
 *
 *     y = the least i with x_i = max_j x_j
 *
 * y is i64 and counts along one dimension, or through all elements in row-major order. The first
 * NaN counts as the largest element. Not differentiable. */

const adzi_op adzi_op_argmax = {
    .name = "argmax", ADZI_EXTREME_MEMBERS, .shape_rule = adzi_extreme_index_shape
};

adz_tensor *adz_argmax(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_extreme_attr attr = { .keepdim = keepdim };
    return adzi_extreme_index_dims("argmax", x, dims, &attr)
               ? ADZI_RUN(argmax, adzi_extreme_index_launch, &attr, x)
               : NULL;
}
