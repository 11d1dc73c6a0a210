#include "ops/reduction/extreme.h"

/* The index of the first smallest element, torch.argmin.
 *
 *     y = the least i with x_i = min_j x_j
 *
 * y is i64 and counts along one dimension, or through all elements in row-major order. The first
 * NaN counts as the smallest element. Not differentiable. */

const adzi_op adzi_op_argmin = { .name = "argmin", ADZI_FIELDS(adzi_extreme_fields) };

adz_tensor *adz_argmin(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adzi_extreme_index(&adzi_op_argmin, ADZI_SMALLEST, x, dims, keepdim);
}
