#include "ops/elementwise.h"

/* The absolute value, torch.abs.
 *
 *     y  = |x|
 *     dx = dy sign(x), and 0 at x = 0
 *
 * x has any shape; y has x's shape and dtype. The least integer has no positive counterpart and
 * stays as it is. The node saves x, because y does not tell the sign. */

KERNEL_TABLE_ALL(abs);

/* sign(x) = (x > 0) - (x < 0). Comparisons are not recorded, so only dy carries a graph. This is
 * right, because the sign is piecewise constant. NaN compares false twice and gets the factor 0. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    adz_dtype dtype = (adz_dtype)dy[0]->dtype;
    adz_tensor *above = adz_to(adz_gt_number(x, 0), dtype);
    adz_tensor *below = adz_to(adz_lt_number(x, 0), dtype);
    dx[0] = adz_mul(dy[0], adz_sub(above, below));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_abs = { .name = "abs", .backward = backward };

/* adzi_unary() does not fit: it would convert an integer x to f32. */
adz_tensor *adz_abs(adz_tensor *x)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, abs, x) || !adzi_want_computable(&call, 0) ||
        !adzi_refuse_bool(&call, 0, "x itself")) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_pointwise(KERNEL_FOR(abs, y->dtype), y, 1, call.in, NULL);
    return adzi_leave(&call, y);
}
