#include "ops/op.h"

/* Removes dimensions of size 1, torch.squeeze.
 *
 *     y  = x without the dimension (or without all of size 1)
 *     dx = dy in the shape of x
 *
 * y is a view, or x itself if there is nothing to remove. A dimension of another size is left as it
 * is, as in PyTorch. The node saves nothing: every node knows the shape of its input. */

/* A reshape and not an unsqueeze, because several dimensions may have been removed. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_reshape(dy[0], adzi_input_shape(node, 0));
    return adzi_status(dx[0]);
}

/* Removes those dimensions of the mask that have size 1. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const unsigned *mask = block;
    const adz_tensor *x = in[0];
    y->shape.rank = 0;
    for (int i = 0; i < x->rank; ++i) {
        if ((*mask >> i & 1) == 0 || x->sizes[i] != 1) {
            y->shape.sizes[y->shape.rank] = x->sizes[i];
            y->strides[y->shape.rank++] = x->strides[i];
        }
    }
    return ADZ_OK;
}

/* There are no attributes: the node knows the shape of its input. */
const adzi_op adzi_op_squeeze = {
    .name = "squeeze", .backward = backward, .shape_rule = shape_rule, .view = true
};

static adz_tensor *squeeze(adz_tensor *x, unsigned mask)
{
    bool removes = false;
    for (int i = 0; i < x->rank && !removes; ++i) {
        removes = mask >> i & 1 && x->sizes[i] == 1;
    }
    /* Nothing to remove: the caller gets x itself, without a view or a node. */
    return removes ? ADZI_RUN(squeeze, NULL, &mask, x) : x;
}

/* Removes one dimension, if it has size 1. A scalar accepts dimension 0 and -1, and is returned as
 * it is. */
adz_tensor *adz_squeeze(adz_tensor *x, int dim)
{
    const int d = adzi_check_tensor("squeeze", "x", x) ? adzi_dim("squeeze", x, dim) : -1;
    return d >= 0 ? squeeze(x, 1u << d) : NULL;
}

/* Removes every dimension of size 1. A tensor of one element becomes a scalar. */
adz_tensor *adz_squeeze_all(adz_tensor *x)
{
    return adzi_check_tensor("squeeze", "x", x) ? squeeze(x, ~0u) : NULL;
}
