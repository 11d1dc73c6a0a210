#include "ops/reduction/extreme.h"

/* The largest element over dimensions, torch.amax.
 *
 *     y    = max_i x_i
 *     dx_i = dy / c if x_i = y, else 0,   c = number of i with x_i = y
 *
 * Elements that tie share the gradient in equal parts. The node saves x and y, which say where the
 * ties are. If y is NaN, c is 0 and dx is NaN, as in PyTorch. */

const adzi_op adzi_op_amax = {
    .name = "amax", .backward = adzi_extreme_backward, ADZI_FIELDS(adzi_extreme_fields)
};

adz_tensor *adz_amax(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adzi_extreme(&adzi_op_amax, ADZI_LARGEST, x, dims, keepdim, false);
}
