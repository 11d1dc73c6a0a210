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

const adzi_op adzi_op_unsqueeze = {
    .name = "unsqueeze", .backward = backward, ADZI_FIELDS(fields)
};

/* `dim` may be 0 .. rank, or -rank-1 .. -1 counted from the last position. */
adz_tensor *adz_unsqueeze(adz_tensor *x, int dim)
{
    adzi_call call;
    unsqueeze_attr attr;
    if (!ADZI_ENTER(&call, unsqueeze, x) || (attr.dim = adzi_new_dim("unsqueeze", x, dim)) < 0) {
        return NULL;
    }
    if (x->rank == ADZ_MAX_RANK) {
        return adzi_fail("unsqueeze", ADZ_ERR_SHAPE,
            "x%s has %d dimensions already, the most there are", adzi_text_shape(x), ADZ_MAX_RANK);
    }
    /* The stride of a dimension of size 1 reaches no element. It gets the value that it has in a
     * contiguous tensor: size times stride of the dimension behind it. */
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    for (int i = 0, from = 0; i <= x->rank; ++i) {
        sizes[i] = i == attr.dim ? 1 : x->sizes[from];
        strides[i] = i == attr.dim ? (from < x->rank ? x->sizes[from] * x->strides[from] : 1)
                                   : x->strides[from];
        from += i == attr.dim ? 0 : 1;
    }
    adz_tensor *y = adzi_new_view(&call, x, x->rank + 1, sizes, strides, 0);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    return y;
}
