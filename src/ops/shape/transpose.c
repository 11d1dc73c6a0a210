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

const adzi_op adzi_op_transpose = {
    .name = "transpose", .backward = backward, ADZI_FIELDS(fields)
};

adz_tensor *adz_transpose(adz_tensor *x, int dim0, int dim1)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, transpose, x)) {
        return NULL;
    }
    /* Negative dimensions are counted from the last one. Both may be equal, which gives a view of
     * x. */
    transpose_attr attr = { adzi_dim("transpose", x, dim0), adzi_dim("transpose", x, dim1) };
    if (attr.dim0 < 0 || attr.dim1 < 0) {
        return NULL;
    }
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    for (int i = 0; i < x->rank; ++i) {
        int from = i == attr.dim0 ? attr.dim1 : i == attr.dim1 ? attr.dim0 : i;
        sizes[i] = x->sizes[from];
        strides[i] = x->strides[from];
    }
    adz_tensor *y = adzi_new_view(&call, x, x->rank, sizes, strides, 0);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    return y;
}
