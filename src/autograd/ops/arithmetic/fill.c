#include "autograd/op.h"
#include "autograd/ops/numbers.h"

/* The old values are overwritten: their gradient is zero. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_zeros_like(dy[0]);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_fill = { .name = "fill", .backward = backward };

adz_tensor *adz_fill_(adz_tensor *x, double value)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, fill, x) ||
        !adzi_number_fits("fill", "value", value, (adz_dtype)x->dtype) ||
        !adzi_begin_inplace(&call, false) || !adzi_record(&call, 1, &x, NULL, 0)) {
        return NULL;
    }
    adzi_fill(x, value);
    return adzi_leave(&call, x);
}

adz_tensor *adz_zero_(adz_tensor *x)
{
    return adz_fill_(x, 0);
}
