#include "autograd/op.h"
#include "autograd/ops/elementwise.h"

KERNEL_TABLE_ALL(neg);

/* dx = -dy. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_neg(dy[0]);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_neg = { .name = "neg", .backward = backward };

static adz_tensor *neg(adz_tensor *x, bool inplace)
{
    adzi_call call;
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
