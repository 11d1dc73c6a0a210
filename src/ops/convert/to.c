#include "ops/op.h"

/* Conversion to another dtype, torch.Tensor.to.
 *
 *     y  = x in the given dtype
 *     dx = dy in x's dtype
 *
 * x has any shape and dtype. The node saves nothing. Conversions between f32 and f64 are recorded.
 * Integers, bool, f16 and bf16 carry no gradient, so conversions from or to them are not.
 * The result is contiguous, whatever the strides of x are. */

/* The dtype of x is the other one of f32 and f64: only these two are recorded, and a conversion to
 * x's own dtype makes no node. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_to(dy[0], dy[0]->dtype == ADZ_F32 ? ADZ_F64 : ADZ_F32);
    (void)node;
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_to = { .name = "to", .backward = backward };

/* Returns x itself if it has the dtype already, as PyTorch does. */
adz_tensor *adz_to(adz_tensor *x, adz_dtype dtype)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, to, x)) {
        return NULL;
    }
    if (adz_dtype_size(dtype) == 0) {
        return adzi_fail("to", ADZ_ERR_DTYPE, "%d is not a dtype", (int)dtype);
    }
    if (x->dtype == dtype) {
        return x;
    }
    adz_tensor *y = adzi_new(&call, dtype, x->rank, x->sizes);
    call.record = call.record && adzi_is_float(dtype);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_copy(y, x);
    return adzi_leave(&call, y);
}
