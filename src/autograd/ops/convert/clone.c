#include "autograd/op.h"

/* dx = dy. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = dy[0];
    return ADZ_OK;
}

const adzi_op adzi_op_clone = { .name = "clone", .backward = backward };

adz_tensor *adz_clone(adz_tensor *x)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, clone, x)) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_copy(y, x);
    return adzi_leave(&call, y);
}

adz_tensor *adz_contiguous(adz_tensor *x)
{
    bool as_is = x != NULL && x->alive == ADZI_ALIVE && adzi_is_contiguous(x);
    return as_is && !adzi_is_none(x) ? x : adz_clone(x);
}

adz_tensor *adz_detach(adz_tensor *x)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, clone, x)) {
        return NULL;
    }
    return adzi_new_view(&call, x, x->rank, x->sizes, x->strides, 0);
}
