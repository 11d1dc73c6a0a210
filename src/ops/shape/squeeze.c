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

/* Removes those dimensions of the mask that have size 1. The call is written out, because with
 * nothing to remove it makes no view: the caller gets x itself, without a node. */
static adz_tensor *squeeze(adzi_call *call, adz_tensor *x, unsigned mask)
{
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; ++i) {
        if (!(mask & (1u << i)) || x->sizes[i] != 1) {
            sizes[rank] = x->sizes[i];
            strides[rank++] = x->strides[i];
        }
    }
    if (rank == x->rank) {
        return x;
    }
    adz_tensor *y = adzi_new_view(call, x, rank, sizes, strides, 0);
    return y != NULL && adzi_record(call, 1, &y, NULL, 0) ? y : NULL;
}

const adzi_op adzi_op_squeeze = { .name = "squeeze", .backward = backward };

/* Removes one dimension, if it has size 1. A scalar accepts dimension 0 and -1, and is returned as
 * it is. */
adz_tensor *adz_squeeze(adz_tensor *x, int dim)
{
    adzi_call call;
    const int d = ADZI_ENTER(&call, squeeze, x) ? adzi_dim("squeeze", x, dim) : -1;
    return d >= 0 ? squeeze(&call, x, 1u << d) : NULL;
}

/* Removes every dimension of size 1. A tensor of one element becomes a scalar. */
adz_tensor *adz_squeeze_all(adz_tensor *x)
{
    ADZI_COMPOSED();
    adzi_call call;
    return ADZI_ENTER(&call, squeeze, x) ? squeeze(&call, x, ~0u) : NULL;
}
