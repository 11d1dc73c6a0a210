#include "ops/reduction/extreme.h"

/* The largest element over dimensions, torch.amax.
 *
 *     y    = max_i x_i
 *     dx_i = dy / c if x_i = y, else 0,   c = number of i with x_i = y
 *
 * Elements that tie share the gradient in equal parts. The node saves x and y, which say where the
 * ties are. If y is NaN, c is 0 and dx is NaN, as in PyTorch. */

const adzi_op adzi_op_amax = {
    .name = "amax", .backward = adzi_extreme_backward, ADZI_EXTREME_VALUE_MEMBERS
};

adz_tensor *adz_amax(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_extreme_attr attr = { .keepdim = keepdim };
    return adzi_extreme_dims("amax", x, dims, &attr) ? ADZI_RUN(amax, adzi_extreme_launch, &attr, x)
                                                     : NULL;
}
