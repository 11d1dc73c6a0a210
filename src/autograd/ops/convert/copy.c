#include "autograd/op.h"

/* x's old values are overwritten: their gradient is zero. y's is dy, summed back by the engine. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (adzi_needs(node, 1)) {
        dx[1] = dy[0];
    }
    return ADZ_OK;
}

const adzi_op adzi_op_copy = { .name = "copy", .backward = backward };

adz_tensor *adz_copy_(adz_tensor *x, adz_tensor *y)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!ADZI_ENTER(&call, copy, x, y)) {
        return NULL;
    }
    call.record = call.record && adzi_is_float((adz_dtype)x->dtype); /* integers have no gradient */
    if (!adzi_begin_inplace(&call, false) || !adzi_broadcast("copy", &rank, sizes, x, call.in[1])) {
        return NULL;
    }
    if (call.record && !adzi_convert(&call, 1, (adz_dtype)x->dtype)) {
        return NULL; /* through adz_to, so that the gradient is converted back */
    }
    adz_tensor *out = adzi_new(&call, (adz_dtype)x->dtype, rank, sizes);
    if (out == NULL || !adzi_record(&call, 1, &out, NULL, 0)) {
        return NULL;
    }
    adzi_copy(out, call.in[1]);
    return adzi_leave(&call, out);
}
