#include "ops/op.h"

/* A contiguous copy, torch.clone, and the two calls that avoid a copy where they can.
 *
 *     y  = x
 *     dx = dy
 *
 * x has any shape, strides and dtype; y has its shape and dtype and is contiguous. The node saves
 * nothing, because the derivative is 1. */

/* The input receives the tensor dy itself: nothing is copied. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = dy[0];
    return ADZ_OK;
}

/* Names detach in a trace. It has no node. */
static const adzi_op detach_op = { .name = "detach" };

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adzi_copy(y[0], in[0]);
}

const adzi_op adzi_op_clone = { .name = "clone", .backward = backward, .strided_inputs = 1u << 0 };

adz_tensor *adz_clone(adz_tensor *x)
{
    return ADZI_RUN(clone, launch, NULL, x);
}

/* x itself if it is contiguous already, else a clone, which the tape records. Stale handles, NULL
 * and ADZ_NONE go to adz_clone(), whose checks refuse them with a message. */
adz_tensor *adz_contiguous(adz_tensor *x)
{
    ADZI_COMPOSED();
    bool as_is = x != NULL && x->alive == ADZI_ALIVE && adzi_is_contiguous(x);
    return as_is && !adzi_is_none(x) ? x : adz_clone(x);
}

/* A view of x that the tape does not know, torch.Tensor.detach. It shares the storage and its
 * version, so that a backward notices when the view is changed in place. The call is written out,
 * because no other view is never recorded. */
adz_tensor *adz_detach(adz_tensor *x)
{
    adzi_call call;
    if (!adzi_enter(&call, &detach_op, "x", (adz_tensor *[]){ x }, 1, 0)) {
        return NULL;
    }
    adz_tensor *y = adzi_new_view(&call, x, x->rank, x->sizes, x->strides, 0);
    return y != NULL && adzi_record_nothing(&call, y, NULL, 0) ? y : NULL;
}

adz_tensor *adzi_compact_copy(const char *op, adz_tensor *t)
{
    adz_tensor *copy = adzi_scratch_like(op, t);
    adzi_tracer *tracer = adzi_self()->tracer;
    const adzi_report report = {
        .op = &adzi_op_clone, .in = &t, .n_in = 1, .results = &copy, .n_results = 1
    };
    if (copy == NULL || (tracer != NULL && !tracer->call(tracer, &report))) {
        return NULL;
    }
    adzi_copy(copy, t);
    return copy;
}
