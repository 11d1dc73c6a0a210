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

static void drop(adz_result *y, int dim)
{
    --y->shape.rank;
    for (int i = dim; i < y->shape.rank; ++i) {
        y->shape.sizes[i] = y->shape.sizes[i + 1];
        y->strides[i] = y->strides[i + 1];
    }
}

/* Removes one dimension, or with -1 all of size 1. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const int dim = *(const int *)block;
    if (dim >= 0) {
        drop(y, dim);
        return ADZ_OK;
    }
    for (int i = in[0]->rank - 1; i >= 0; --i) {
        if (in[0]->sizes[i] == 1) {
            drop(y, i);
        }
    }
    return ADZ_OK;
}

/* There are no attributes: the node knows the shape of its input. */
const adzi_op adzi_op_squeeze = {
    .name = "squeeze", .backward = backward, .shape_rule = shape_rule, .view = true
};

/* Removes one dimension, if it has size 1. Else there is neither a view nor a node, and the caller
 * gets x itself. A scalar accepts dimension 0 and -1. */
adz_tensor *adz_squeeze(adz_tensor *x, int dim)
{
    if (!adzi_check_tensor("squeeze", "x", x) || (dim = adzi_dim("squeeze", x, dim)) < 0) {
        return NULL;
    }
    return x->rank > 0 && x->sizes[dim] == 1 ? ADZI_RUN(squeeze, NULL, &dim, x) : x;
}

/* Removes every dimension of size 1. A tensor of one element becomes a scalar. */
adz_tensor *adz_squeeze_all(adz_tensor *x)
{
    int all = -1;
    if (!adzi_check_tensor("squeeze", "x", x)) {
        return NULL;
    }
    bool removes = false;
    for (int i = 0; i < x->rank && !removes; ++i) {
        removes = x->sizes[i] == 1;
    }
    return removes ? ADZI_RUN(squeeze, NULL, &all, x) : x;
}
