#include "autograd/op.h"
#include "autograd/ops/numbers.h"

typedef struct {
    double value;
} fill_attr;

/* The old values are overwritten: their gradient is zero. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_zeros_like(dy[0]);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(fill_attr, value) };

const adzi_op adzi_op_fill = { .name = "fill", .backward = backward, ADZI_FIELDS(fields) };

adz_tensor *adz_fill_(adz_tensor *x, double value)
{
    adzi_call call;
    const fill_attr attr = { value };
    if (!ADZI_ENTER(&call, fill, x) ||
        !adzi_number_fits("fill", "value", value, (adz_dtype)x->dtype) ||
        !adzi_begin_inplace(&call, false) || !adzi_record(&call, 1, &x, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_fill(x, value);
    return adzi_leave(&call, x);
}

adz_tensor *adz_zero_(adz_tensor *x)
{
    return adz_fill_(x, 0);
}
