#include "ops/op.h"

/* Reorders dimensions, torch.permute.
 *
 *     y[i_0][i_1][i_2]: dimension k of y is dimension dims[k] of x
 *     dx = dy with the inverse permutation
 *
 * y is a view of x: only sizes and strides are swapped. The node saves nothing, because the
 * operator is linear. */

/* The attributes of a node: the permutation, with dimensions counted from the front. */
typedef struct {
    int n;
    int dims[ADZ_MAX_RANK]; /* dimension i of y is dimension dims[i] of x */
} permute_attr;

/* The inverse permutation is itself a permute, so the gradient is a view and can be differentiated
 * again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const permute_attr *at = adzi_attr(node, permute_attr);
    int back[ADZ_MAX_RANK] = { 0 };
    for (int i = 0; i < dy[0]->rank; ++i) {
        back[at->dims[i]] = i;
    }
    dx[0] = adz_permute(dy[0], adz_dims_of(dy[0]->rank, back));
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD_LIST(permute_attr, n, dims) };

const adzi_op adzi_op_permute = { .name = "permute", .backward = backward, ADZI_FIELDS(fields) };

/* Every dimension of x is listed once. */
adz_tensor *adz_permute(adz_tensor *x, adz_dims dims)
{
    adzi_call call;
    unsigned mask;
    if (!ADZI_ENTER(&call, permute, x) || !adzi_dims_mask("permute", x, dims, &mask)) {
        return NULL;
    }
    /* adzi_dims_mask has refused dimensions outside x and dimensions that are listed twice. */
    int count = dims.count < 0 ? 0 : dims.count;
    if (count != x->rank) {
        return adzi_fail("permute", ADZ_ERR_DIM, "%d dimensions are listed, but x%s has %d", count,
            adzi_text_shape(x), x->rank);
    }
    permute_attr attr = { .n = x->rank };
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    for (int i = 0; i < x->rank; ++i) {
        attr.dims[i] = dims.dims[i] < 0 ? dims.dims[i] + x->rank : dims.dims[i];
        sizes[i] = x->sizes[attr.dims[i]];
        strides[i] = x->strides[attr.dims[i]];
    }
    adz_tensor *y = adzi_new_view(&call, x, x->rank, sizes, strides, 0);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    return y;
}
