#include "autograd/ops/math/maximum.h"

KERNEL_TABLE_ALL(minimum);
KERNEL_TABLE_FLOAT(minimum_backward);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            adz_tensor *x = adzi_saved_input(node, i), *other = adzi_saved_input(node, 1 - i);
            dx[i] = adzi_extremum_gradient(dy[0], x, other, adz_gt(x, other));
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    return ADZ_OK;
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_extremum_fused(node, dx, dy, minimum_backward_kernels);
}

const adzi_op adzi_op_minimum = { .name = "minimum", .backward = backward, .fused = fused };

adz_tensor *adz_minimum(adz_tensor *a, adz_tensor *b)
{
    return adzi_extremum(&adzi_op_minimum, a, b, minimum_kernels);
}
