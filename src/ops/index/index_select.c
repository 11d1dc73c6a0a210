#include "ops/index/indices.h"
#include "ops/index/rows.h"

/* Subtensors at a list of indices along one dimension, torch.index_select.
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

/* Each subtensor of dy is added to that of x that it was taken from. The sum of rows is an
 * operator, so the gradient can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const index_select_attr *at = adzi_attr(node, index_select_attr);
    dx[0] = adzi_rows_sum(dy[0], at->dim, adzi_saved_input(node, 1), at->size);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(index_select_attr, dim),
    ADZI_FIELD_HIDDEN(index_select_attr, size) };

/* An index of rank 0 counts as a list of one number, as in PyTorch. */
static bool check(adzi_call *call, void *block)
{
    index_select_attr *at = block;
    const adz_tensor *x = call->in[0];
    if (x->rank == 0 || call->in[1]->rank > 1) {
        adzi_error("index_select", ADZ_ERR_SHAPE,
            "x%s needs a dimension and index%s is a list of numbers along it; for an index of x's rank use adz_gather",
            adzi_text_shape(x), adzi_text_shape(call->in[1]));
        return false;
    }
    at->dim = adzi_dim("index_select", x, at->dim);
    if (at->dim < 0 || !adzi_want_indices(call, 1)) {
        return false;
    }
    at->size = x->sizes[at->dim];
    if (!adzi_indices_within(
            "index_select", call->in[1], at->size, "positions of a dimension of x", x)) {
        return false;
    }
    if (call->in[1]->rank == 0) {
        call->in[1] = adz_reshape(call->in[1], ADZ_SHAPE(1));
    }
    return call->in[1] != NULL;
}

/* x keeps its rank. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const index_select_attr *at = block;
    return adzi_form_status(adzi_rows_sizes("index_select", in[0], at->dim, in[1], &y->shape));
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const index_select_attr *at = block;
    adzi_rows_copy(y[0], in[0], at->dim, in[1]);
}

/* The check makes the index contiguous. */
const adzi_op adzi_op_index_select = { .name = "index_select",
    .backward = backward,
    ADZI_ATTRIBUTES(index_select_attr, fields),
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 1,
    .saved_inputs = 1u << 1 };

adz_tensor *adz_index_select(adz_tensor *x, int dim, adz_tensor *index)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_STEPS(
        &adzi_op_index_select, steps, &(index_select_attr){ .dim = dim }, x, index);
}
