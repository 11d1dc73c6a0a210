#include "autograd/ops/elementwise.h"

/* The length of a vector of two elements, torch.hypot.
 *
 *     y  = sqrt(a^2 + b^2), without overflow
 *     da = dy a / y,   db = dy b / y
 *
 * a and b have any shapes that broadcast to y. The node saves both. The backward computes y again,
 * because most calls of hypot need no gradient. */

KERNEL_TABLE_FLOAT(hypot);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *in[] = { adzi_saved_input(node, 0), adzi_saved_input(node, 1) };
    adz_tensor *y = adz_hypot(in[0], in[1]);
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = adz_mul(dy[0], adz_div(in[i], y));
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    return ADZ_OK;
}

const adzi_op adzi_op_hypot = { .name = "hypot", .backward = backward };

adz_tensor *adz_hypot(adz_tensor *a, adz_tensor *b)
{
    return adzi_binary(&adzi_op_hypot, a, b, hypot_kernels);
}
