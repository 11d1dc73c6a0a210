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

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)in;
    y->dtype = *(const adz_dtype *)block;
    return ADZ_OK;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)block;
    adzi_copy(y[0], in[0]);
}

/* There are no attributes: the node knows the dtype of its result. */
const adzi_op adzi_op_to = {
    .name = "to", .backward = backward, .shape_rule = shape_rule, .strided_inputs = 1u << 0
};

/* Returns x itself if it has the dtype already, as PyTorch does. */
adz_tensor *adz_to(adz_tensor *x, adz_dtype dtype)
{
    if (!adzi_check_tensor("to", "x", x)) {
        return NULL;
    }
    if (adz_dtype_size(dtype) == 0) {
        return adzi_fail("to", ADZ_ERR_DTYPE, "%d is not a dtype", (int)dtype);
    }
    return x->dtype != dtype ? ADZI_RUN(to, launch, &dtype, x) : x;
}
