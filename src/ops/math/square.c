#include "ops/elementwise.h"

/* The square of a tensor, torch.square.
 *
 *     y  = x^2
 *     dx = 2 dy x
 *
 * x has any shape; y has its dtype, and i64 for a bool x. Squares of integers wrap. The node saves
 * x, because y does not tell its sign. */

KERNEL_TABLE_ALL(square);
KERNEL_TABLE_FLOAT(square_backward);

/* The factor 2 comes last: in front it would make a new tensor of a dy that was expanded. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_mul_number(adz_mul(dy[0], adzi_saved_input(node, 0)), 2);
    return adzi_status(dx[0]);
}

/* One kernel computes both products in one pass, over dy itself where the engine is its only owner.
 */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_unary_fused(node, dx, dy[0], adzi_saved_input(node, 0), square_backward_kernels);
}

const adzi_op adzi_op_square = { .name = "square", .backward = backward, .fused = fused };

/* adzi_unary() does not fit: it would convert an integer x to f32. */
adz_tensor *adz_square(adz_tensor *x)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, square, x) || !adzi_want_computable(&call, 0) ||
        (x->dtype == ADZ_BOOL && !adzi_convert(&call, 0, ADZ_I64))) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, call.in[0]);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_pointwise(KERNEL_FOR(square, y->dtype), y, 1, call.in, NULL);
    return adzi_leave(&call, y);
}
