#include "ops/op.h"

/* Writes the elements of y to x, in place: torch.Tensor.copy_.
 *
 *     x = y, broadcast to x and converted to x's dtype
 *     gradient of y:         the upstream gradient, summed over broadcast dimensions, in y's dtype
 *     gradient of the old x: 0
 *
 * x has any shape that y broadcasts to. The node saves nothing, because the derivatives are
 * constants. */

/* dx[0] stays NULL, which means zero: the old x is overwritten. The engine sums dx[1] over the
 * dimensions in which y was broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (adzi_needs(node, 1)) {
        dx[1] = dy[0];
    }
    return ADZ_OK;
}

const adzi_op adzi_op_copy = { .name = "copy", .backward = backward };

/* The call is written out, because whether it is recorded depends on x, and has to be known before
 * the call becomes one in place. Recorded only for a float x, since integers have no gradient. A
 * recorded call converts y by adz_to(), so that the tape converts the gradient back; otherwise
 * adzi_copy() converts on the way.
 */
adz_tensor *adz_copy_(adz_tensor *x, adz_tensor *y)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!ADZI_ENTER(&call, copy, x, y)) {
        return NULL;
    }
    call.record = call.record && adzi_is_float((adz_dtype)x->dtype);
    if (!adzi_begin_inplace(&call, false) || !adzi_broadcast("copy", &rank, sizes, x, call.in[1])) {
        return NULL;
    }
    if (call.record && !adzi_convert(&call, 1, (adz_dtype)x->dtype)) {
        return NULL;
    }
    adz_tensor *out = adzi_new(&call, (adz_dtype)x->dtype, rank, sizes);
    if (out == NULL || !adzi_record(&call, 1, &out, NULL, 0)) {
        return NULL;
    }
    adzi_copy(out, call.in[1]);
    return adzi_leave(&call, out);
}
