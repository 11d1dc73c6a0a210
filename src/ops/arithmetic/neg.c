#include "ops/op.h"
#include "ops/elementwise.h"

/* The negative of a tensor, torch.neg.
 *
 *     y  = -x
 *     dx = -dy
 *
 * x has any shape and every dtype but f16, bf16 and bool; integers wrap. The node saves nothing,
 * because the derivative is a constant. The gradient is an expression, so it can be differentiated
 * again. A fused backward would run one pass as well, so there is none. */

KERNEL_TABLE_ALL(neg);

/* -dy does not depend on x, so a second derivative is 0. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_neg(dy[0]);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_neg = { .name = "neg", .backward = backward };

/* Computes both public calls. In place no copy of the old values is needed, because the backward
 * does not read them. Bool is refused as in PyTorch, and the message names adz_logical_not. */
static adz_tensor *neg(adz_tensor *x, bool inplace)
{
    adzi_call call;
    /* An in-place call is refused where x is a leaf that wants a gradient, or a view in a graph. */
    if (!ADZI_ENTER(&call, neg, x) || !adzi_want_computable(&call, 0) ||
        !adzi_refuse_bool(&call, 0, "adz_logical_not") ||
        (inplace && !adzi_begin_inplace(&call, false))) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_pointwise(KERNEL_FOR(neg, y->dtype), y, 1, call.in, NULL);
    return adzi_leave(&call, y);
}

adz_tensor *adz_neg(adz_tensor *x)
{
    return neg(x, false);
}

adz_tensor *adz_neg_(adz_tensor *x)
{
    return neg(x, true);
}
