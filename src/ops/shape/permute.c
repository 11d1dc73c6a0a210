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

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    permute_attr at;
    const adz_dims *dims; /* as the caller lists them, negative ones counted from the last */
} permute_arguments;

/* Every dimension of x is listed once. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    permute_arguments *call = block;
    const adz_tensor *x = in[0];
    const int *dims = call->dims->dims;
    const int count = call->dims->count < 0 ? 0 : call->dims->count;
    unsigned mask;
    /* This refuses dimensions outside x and dimensions that are listed twice. */
    if (!adzi_dims_mask("permute", x, *call->dims, &mask)) {
        return adzi_status(NULL);
    }
    if (count != x->rank) {
        return adzi_error("permute", ADZ_ERR_DIM, "%d dimensions are listed, but x%s has %d", count,
            adzi_text_shape(x), x->rank);
    }
    call->at.n = count;
    for (int i = 0; i < count; ++i) {
        const int from = dims[i] + (dims[i] < 0 ? count : 0);
        call->at.dims[i] = from;
        y->shape.sizes[i] = x->sizes[from];
        y->strides[i] = x->strides[from];
    }
    return ADZ_OK;
}

const adzi_op adzi_op_permute = { .name = "permute",
    .backward = backward,
    ADZI_ATTRIBUTES(permute_attr, fields),
    .shape_rule = shape_rule,
    .view = true };

adz_tensor *adz_permute(adz_tensor *x, adz_dims dims)
{
    permute_arguments arguments;
    arguments.dims = &dims;
    return ADZI_RUN(permute, NULL, &arguments, x);
}
