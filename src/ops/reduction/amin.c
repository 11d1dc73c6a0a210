#include "ops/reduction/extreme.h"

/* The smallest element over dimensions, torch.amin.
 *
 *     y    = min_i x_i
 *     dx_i = dy / c if x_i = y, else 0,   c = number of i with x_i = y
 *
 * Elements that tie share the gradient in equal parts. The node saves x and y, which say where the
 * ties are. If y is NaN, c is 0 and dx is NaN, as in PyTorch. */

const adzi_op adzi_op_amin = {
    .name = "amin", .backward = adzi_extreme_backward, ADZI_EXTREME_VALUE_MEMBERS
};

adz_tensor *adz_amin(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_extreme_attr attr = { .keepdim = keepdim, .smallest = true };
    return adzi_extreme_dims("amin", x, dims, &attr) ? ADZI_RUN(amin, adzi_extreme_launch, &attr, x)
                                                     : NULL;
}
