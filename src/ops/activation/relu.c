#include "ops/elementwise.h"

/* The rectified linear unit, torch.nn.functional.relu.
 *
 *     y  = max(x, 0)
 *     dx = dy where y > 0, else 0
 *
 * x has any shape and every dtype but f16, bf16 and bool. NaN stays NaN, and dy passes there. The
 * node saves y and not x: y is above 0 where x is. A linear layer after it saves y as well, so this
 * costs no memory. It is also why relu can be computed in place. */

KERNEL_TABLE_ALL(relu);
KERNEL_TABLE_FLOAT(relu_backward);

/* The derivative is 0 where y <= 0 and 1 elsewhere, also for NaN. It is piecewise constant, so the
 * second derivative with respect to x is 0 and only dy carries a graph. dy is filled and not
 * multiplied by 0, because an infinite dy times 0 would be NaN. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_masked_fill(dy[0], adz_le_number(y, 0), 0);
    return adzi_status(dx[0]);
}

/* One kernel selects dy or 0 by y, over dy itself where the engine is its only owner. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_unary_fused_of_result(node, dx, dy[0], relu_backward_kernels);
}

const adzi_op adzi_op_relu = { .name = "relu", .backward = backward, .fused = fused };

/* Computes both public calls. In place adzi_save_result() does nothing, because x still has its
 * old values; adzi_leave_saving() saves x once it is the result. */
static adz_tensor *relu(adz_tensor *x, bool inplace)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, relu, x) || !adzi_want_computable(&call, 0) ||
        (inplace && !adzi_begin_inplace(&call, false))) {
        return NULL;
    }
    if (x->dtype == ADZ_BOOL) {
        return adzi_fail(
            "relu", ADZ_ERR_DTYPE, "x%s is bool, which has no relu", adzi_text_shape(x));
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_result(&call, 0, y);
    adzi_pointwise(KERNEL_FOR(relu, x->dtype), y, 1, call.in, NULL);
    return adzi_leave_saving(&call, y);
}

adz_tensor *adz_relu(adz_tensor *x)
{
    return relu(x, false);
}

adz_tensor *adz_relu_(adz_tensor *x)
{
    return relu(x, true);
}
