#include "autograd/ops/reduction/variance.h"

/* dx = dy (d var / dx) / (2 y), and 0 where y is 0. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    adz_tensor *g = adz_masked_fill(adz_div(dy[0], adz_mul_number(y, 2)), adz_eq_number(y, 0), 0);
    dx[0] = adz_mul(adzi_variance_kept(node, g), adzi_variance_slope(node));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_std = {
    .name = "std", .backward = backward, ADZI_FIELDS(adzi_variance_fields)
};

adz_tensor *adz_std(adz_tensor *x, adz_dims dims, double correction, bool keepdim)
{
    return adzi_variance(&adzi_op_std, x, dims, correction, keepdim, true);
}
