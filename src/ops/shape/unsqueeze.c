#include "ops/op.h"

/* Inserts a dimension of size 1, torch.unsqueeze.
 *
 *     y[i][0][j] = x[i][j]
 *     dx         = dy without the new dimension
 *
 * y is a view of x. The node saves nothing, because the operator is linear. */

typedef struct {
    int dim;
} unsqueeze_attr;

/* The gradient is a squeeze, so it is a view and can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_squeeze(dy[0], adzi_attr(node, unsqueeze_attr)->dim);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(unsqueeze_attr, dim) };

/* `dim` may be 0 .. rank, or -rank-1 .. -1 counted from the last position. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    unsqueeze_attr *at = block;
    const adz_tensor *x = in[0];
    at->dim = adzi_new_dim("unsqueeze", x, at->dim);
    if (at->dim < 0) {
        return adzi_status(NULL);
    }
    if (x->rank == ADZ_MAX_RANK) {
        return adzi_error("unsqueeze", ADZ_ERR_SHAPE,
            "x%s has %d dimensions already, the most there are", adzi_text_shape(x), ADZ_MAX_RANK);
    }
    /* The stride of a dimension of size 1 reaches no element. It gets the value that it has in a
     * contiguous tensor: size times stride of the dimension behind it. */
    for (int i = x->rank; i > at->dim; --i) {
        y->shape.sizes[i] = x->sizes[i - 1];
        y->strides[i] = x->strides[i - 1];
    }
    y->shape.sizes[at->dim] = 1;
    y->strides[at->dim] = at->dim < x->rank ? x->sizes[at->dim] * x->strides[at->dim] : 1;
    y->shape.rank = x->rank + 1;
    return ADZ_OK;
}

const adzi_op adzi_op_unsqueeze = { .name = "unsqueeze",
    .backward = backward,
    ADZI_ATTRIBUTES(unsqueeze_attr, fields),
    .shape_rule = shape_rule,
    .view = true };

adz_tensor *adz_unsqueeze(adz_tensor *x, int dim)
{
    return ADZI_RUN(unsqueeze, NULL, &(unsqueeze_attr){ dim }, x);
}
