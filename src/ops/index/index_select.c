#include "ops/index/indices.h"
#include "ops/index/rows.h"

/* Slices at a list of indices along one dimension, torch.index_select.
 *
 *     y[:, k, :]  = x[:, index[k], :]
 *     dx[:, v, :] = sum of dy[:, k, :] over the k with index[k] = v
 *
 * x[outer, S, inner] has any rank above 0, index[K] is i64 or i32, and y is [outer, K, inner]. The
 * node saves the index and not x: the gradient needs the size of x only. index is not
 * differentiable. */

/* The attributes of a node. The size is not an argument of the call, so messages do not show it. */
typedef struct {
    int dim;      /* the dimension that is indexed, 0 or more */
    int64_t size; /* of x along dim, which the gradient gets back */
} index_select_attr;

/* Each slice of dy is added to the slice of x that it was taken from. The sum of rows is an
 * operator, so the gradient can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const index_select_attr *at = adzi_attr(node, index_select_attr);
    dx[0] = adzi_rows_sum(dy[0], at->dim, adzi_saved_input(node, 1), at->size);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(index_select_attr, dim),
    ADZI_FIELD_HIDDEN(index_select_attr, size) };

const adzi_op adzi_op_index_select = {
    .name = "index_select", .backward = backward, ADZI_FIELDS(fields)
};

/* x keeps its rank. An index of rank 0 counts as a list of one number, as in PyTorch. */
adz_tensor *adz_index_select(adz_tensor *x, int dim, adz_tensor *index)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, index_select, x, index)) {
        return NULL;
    }
    if (x->rank == 0 || index->rank > 1) {
        return adzi_fail("index_select", ADZ_ERR_SHAPE,
            "x%s needs a dimension and index%s is a list of numbers along it; for an index of x's rank use adz_gather",
            adzi_text_shape(x), adzi_text_shape(index));
    }
    int d = adzi_dim("index_select", x, dim);
    adz_shape shape = { 0 };
    if (d < 0 || !adzi_want_indices(&call, 1) ||
        !adzi_indices_within(
            "index_select", call.in[1], x->sizes[d], "positions of a dimension of x", x)) {
        return NULL;
    }
    if (index->rank == 0) { /* one number counts as a list of one */
        call.in[1] = adz_reshape(call.in[1], ADZ_SHAPE(1));
    }
    adz_tensor *from = adzi_compact("index_select", x);
    if (call.in[1] == NULL || from == NULL ||
        !adzi_rows_sizes("index_select", x, d, call.in[1], &shape)) {
        return NULL;
    }
    index_select_attr attr = { d, x->sizes[d] };
    adz_tensor *y = adzi_new(&call, (adz_dtype)x->dtype, shape.rank, shape.sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_input(&call, 1);
    adzi_rows_copy(y, from, d, call.in[1]);
    return adzi_leave(&call, y);
}
