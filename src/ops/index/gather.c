#include "ops/index/gather.h"

#include "ops/index/gather.kernel.h"
#include "ops/index/indices.h"

/* Elements at indices along one dimension, torch.gather.
 *
 *     y[i][j][k]  = x[index[i][j][k]][j][k]          (dim 0 of rank 3)
 *     dx          = zeros; dx[index[i][j][k]][j][k] += dy[i][j][k]
 *
 * x has any shape and any dtype. index is i64 or i32 with the rank of x, and along the other
 * dimensions no size above that of x. y has the shape of index. The node saves the index and not x:
 * the gradient needs the shape of x only. index is not differentiable. */

typedef struct {
    int dim; /* the dimension along which the index counts, 0 or more */
} gather_attr;

/* dx is 0 with dy added at each position that was read. Several indices may name one position.
 * scatter_add is an operator, so the gradient can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *zeros = adz_zeros(adzi_input_shape(node, 0), (adz_dtype)dy[0]->dtype);
    adz_tensor *index = adzi_saved_input(node, 1);
    dx[0] = adz_scatter_add(zeros, adzi_attr(node, gather_attr)->dim, index, dy[0]);
    return adzi_status(dx[0]);
}

/* Adds dy into a new tensor of zeros in place. The index was checked by the forward. The expression
 * checks it again and copies the zeros. A sum that needs f64 memory of its own is left to the
 * expression. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adz_shape shape = adzi_input_shape(node, 0);
    const int dim = adzi_attr(node, gather_attr)->dim;
    adz_tensor *index = adzi_saved_input(node, 1);
    adz_tensor *sums =
        index != NULL ? adzi_scratch("gather", (adz_dtype)dy[0]->dtype, shape.rank, shape.sizes)
                      : NULL;
    if (sums == NULL) {
        return adzi_status(NULL);
    }
    /* Long slices of f32 are summed in f64, which the expression does. */
    if (index->numel > 0 && !adzi_scatter_fits(sums, index, dim)) {
        return backward(node, dx, dy);
    }
    adzi_fill(sums, 0);
    if (index->numel > 0) {
        /* dy has the shape of the index here. */
        adzi_scatter_into(sums, dy[0], index, dim);
    }
    dx[0] = sums;
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(gather_attr, dim) };

KERNEL_TABLE_SIZES(gather);

/* An index may be smaller than x: the elements beyond it are not read. */
bool adzi_index_fits(
    const char *op, const adz_tensor *index, const adz_tensor *t, const char *name, int except)
{
    bool fits = index->rank == t->rank;
    for (int d = 0; d < t->rank && fits; ++d) {
        fits = d == except || index->sizes[d] <= t->sizes[d];
    }
    if (!fits) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "index%s does not fit %s%s: it needs the same rank and no size above its own%s",
            adzi_text_shape(index), name, adzi_text_shape(t),
            except >= 0 ? ", the dimension it counts along excepted" : "");
    }
    return fits;
}

/* Units are elements of y. The strides of x are given per dimension of the index, with 0 along
 * `dim`; there the index itself says how far to go. */
void adzi_gather_into(adz_tensor *y, const adz_tensor *x, const adz_tensor *index, int dim)
{
    adzi_gather_args args = { .x = x->data,
        .y = y->data,
        .index = adzi_index_data(index),
        .rank = y->rank,
        .along = x->rank > 0 ? x->strides[dim] : 0 };
    for (int d = 0; d < x->rank; ++d) {
        /* Sizes are those of the index, strides those of x. */
        args.sizes[d] = y->sizes[d];
        args.strides[d] = d == dim ? 0 : x->strides[d];
    }
    adzi_launch(KERNEL_FOR_SIZE(gather, adzi_item_size(x)), adzi_gather_args, &args, y->numel,
        ADZI_POINTWISE_GRAIN);
}

/* A scalar x counts as a dimension of size 1. An empty index fits any x, as in PyTorch. */
static bool check(adzi_call *call, void *block)
{
    gather_attr *at = block;
    const adz_tensor *x = call->in[0], *index = call->in[1];
    at->dim = adzi_dim("gather", x, at->dim);
    return at->dim >= 0 && adzi_want_index(call, 1) &&
           (index->numel == 0 || adzi_index_fits("gather", index, x, "x", at->dim)) &&
           adzi_want_indices(call, 1) &&
           adzi_indices_within("gather", call->in[1], x->rank > 0 ? x->sizes[at->dim] : 1,
               "positions of a dimension of x", x);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    adzi_form_like(y, in[1]);
    return ADZ_OK;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const gather_attr *at = block;
    if (y[0]->numel > 0) {
        adzi_gather_into(y[0], in[0], in[1], at->dim);
    }
}

/* The check makes the index contiguous, so nothing more is copied. */
const adzi_op adzi_op_gather = { .name = "gather",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(gather_attr, fields),
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 0 | 1u << 1,
    .saved_inputs = 1u << 1 };

adz_tensor *adz_gather(adz_tensor *x, int dim, adz_tensor *index)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_gather, steps, &(gather_attr){ dim }, x, index);
}
