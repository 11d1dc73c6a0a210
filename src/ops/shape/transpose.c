#include "ops/op.h"

/* Swaps two dimensions, torch.transpose.
 *
 *     y[j][i] = x[i][j]
 *     dx      = dy with the two dimensions swapped
 *
 * y is a view of x with two sizes and two strides swapped. The node saves nothing: a transpose is
 * its own inverse. */

typedef struct {
    int dim0, dim1;
} transpose_attr;

/* The gradient is a transpose, so it is a view and can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const transpose_attr *at = adzi_attr(node, transpose_attr);
    dx[0] = adz_transpose(dy[0], at->dim0, at->dim1);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(transpose_attr, dim0),
    ADZI_FIELD(transpose_attr, dim1) };

/* Negative dimensions are counted from the last one. Both may be equal, which gives a view of x. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    transpose_attr *at = block;
    const adz_tensor *x = in[0];
    at->dim0 = adzi_dim("transpose", x, at->dim0);
    at->dim1 = at->dim0 >= 0 ? adzi_dim("transpose", x, at->dim1) : -1;
    if (at->dim1 < 0) {
        return adzi_status(NULL);
    }
    y->shape.sizes[at->dim0] = x->sizes[at->dim1];
    y->shape.sizes[at->dim1] = x->sizes[at->dim0];
    y->strides[at->dim0] = x->strides[at->dim1];
    y->strides[at->dim1] = x->strides[at->dim0];
    return ADZ_OK;
}

const adzi_op adzi_op_transpose = { .name = "transpose",
    .backward = backward,
    ADZI_ATTRIBUTES(transpose_attr, fields),
    .shape_rule = shape_rule,
    .view = true };

adz_tensor *adz_transpose(adz_tensor *x, int dim0, int dim1)
{
    return ADZI_RUN(transpose, NULL, (&(transpose_attr){ dim0, dim1 }), x);
}
