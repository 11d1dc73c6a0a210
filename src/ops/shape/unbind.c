#include "ops/shape/list.h"

/* One tensor per index of a dimension, which is removed, torch.unbind.
 *
 *     y_k = x[..., k, ...]
 *     dx  = dy_0, dy_1, ... stacked along the dimension
 *
 * The results are views of x. One node has all of them as results, so their gradients are stacked
 * once. It saves no tensor: the shapes of the results are known to the node. */

/* The attributes. The dimension is counted from the first, and the results do not have it. */
typedef struct {
    int dim;
} unbind_attr;

/* Joins the gradients of all results with adz_stack, which puts the removed dimension back. A
 * result that received no gradient counts as zeros. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_join_gradients(node, dy, adzi_attr(node, unbind_attr)->dim, adz_stack);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(unbind_attr, dim) };

const adzi_op adzi_op_unbind = { .name = "unbind", .backward = backward, ADZI_FIELDS(fields) };

/* Starts the call. Returns the number of results, or -1 with the error recorded. `room` is what the
 * caller's array holds. One node holds at most 65535 results, so longer dimensions are refused. */
static int64_t enter_unbind(adzi_call *call, adz_tensor *x, int dim, size_t room, unbind_attr *attr)
{
    if (!ADZI_ENTER(call, unbind, x)) {
        return -1;
    }
    if (x->rank == 0) {
        adzi_error("unbind", ADZ_ERR_DIM, "a scalar has no dimension to remove");
        return -1;
    }
    attr->dim = adzi_dim("unbind", x, dim);
    if (attr->dim < 0) {
        return -1;
    }
    /* The number of results, all of which have to fit into the array and into one node. */
    int64_t n = x->sizes[attr->dim];
    if (n > (int64_t)(room < ADZI_LIST_MOST ? room : ADZI_LIST_MOST)) {
        adzi_error("unbind", ADZ_ERR_ARGUMENT,
            "dimension %d of x%s gives %lld tensors, but there is room for %zu (at most %d)",
            attr->dim, adzi_text_shape(x), (long long)n, room, (int)ADZI_LIST_MOST);
        return -1;
    }
    return n;
}

/* All results are views and are recorded as one node. The call is written out, because there may be
 * any number of results. Result k begins k strides of the dimension
 * after the first element of x. `count` may be NULL. After a failure all positions of `out` are
 * NULL.
 */
adz_status adz_unbind(adz_tensor *x, int dim, adz_tensor **out, size_t room, size_t *count)
{
    adzi_call call;
    unbind_attr attr;
    if (out == NULL) {
        return adzi_error_null("unbind", "out");
    }
    int64_t n = enter_unbind(&call, x, dim, room, &attr);
    if (n < 0) {
        return adzi_no_results(out, room);
    }
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    /* The sizes and strides of x without the dimension. All results have them in common. */
    for (int i = 0, k = 0; i < x->rank; ++i) {
        if (i != attr.dim) {
            sizes[k] = x->sizes[i];
            strides[k++] = x->strides[i];
        }
    }
    /* The views differ in their offsets only. */
    for (int64_t k = 0; k < n; ++k) {
        /* An empty x has no storage to point into, so the offset stays 0. */
        int64_t offset = x->numel > 0 ? k * x->strides[attr.dim] : 0;
        out[k] = adzi_new_view(&call, x, x->rank - 1, sizes, strides, offset);
        if (out[k] == NULL) {
            return adzi_no_results(out, room);
        }
    }
    /* An empty dimension has no results, and so no node. */
    if (n > 0 && !adzi_record(&call, (int)n, out, &attr, sizeof attr)) {
        return adzi_no_results(out, room);
    }
    /* The number is written only after success. */
    if (count != NULL) {
        *count = (size_t)n;
    }
    return ADZ_OK;
}
