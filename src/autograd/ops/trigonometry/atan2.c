#include "autograd/ops/elementwise.h"

/* The angle of a point, torch.atan2.
 *
 *     y  = the angle of the point (b, a), in [-pi, pi]
 *     da = dy b / (a^2 + b^2),   db = -dy a / (a^2 + b^2),   both 0 where a = b = 0
 *
 * a and b have any shapes that broadcast to y. The node saves both. */

KERNEL_TABLE_FLOAT(atan2);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *a = adzi_saved_input(node, 0), *b = adzi_saved_input(node, 1);
    adz_tensor *square = adz_add(adz_mul(a, a), adz_mul(b, b));
    adz_tensor *none = adz_eq_number(square, 0);
    adz_tensor *share = adz_div(adz_masked_fill(dy[0], none, 0), adz_masked_fill(square, none, 1));
    if (share == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, 0)) {
        dx[0] = adz_mul(share, b);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        dx[1] = adz_neg(adz_mul(share, a));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

const adzi_op adzi_op_atan2 = { .name = "atan2", .backward = backward };

adz_tensor *adz_atan2(adz_tensor *a, adz_tensor *b)
{
    return adzi_binary(&adzi_op_atan2, a, b, atan2_kernels);
}
