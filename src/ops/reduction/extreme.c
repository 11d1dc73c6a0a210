#include "ops/reduction/extreme.h"

#include "ops/slices.h"
#include "ops/reduction/attr.h"
#include "ops/reduction/sum.h"

/* The forward and the backward of max, min, amax, amin, argmax and argmin.
 *
 *     y      = max_i x_i or min_i x_i over the reduced dimensions
 *     indices = the least i with x_i = y, counted in the order of the reduced dimensions
 *
 * x has any shape. y and indices have the sizes of x without the reduced dimensions, or with size 1
 * there. A NaN in x makes y NaN. Two rules say which elements receive the gradient:
 *
 *     ties share (max and min of all, amax, amin):  dx_i = dy / c where x_i = y, c such elements
 *     first one  (max and min along a dimension):   dx_i = dy where i = indices
 *
 * The first rule saves x and y, because the number of ties is not known from y. The second rule
 * saves the indices only, so x can be released. argmax and argmin are not differentiable. */

/* Two kernels per direction: `reduce` makes the states of blocks, `combine` joins them. The other
 * three belong to the backward: `tie` marks elements equal to y, `share` divides the marks by their
 * number, and `put` writes to indices. */
KERNEL_TABLE_ALL(largest_reduce);
KERNEL_TABLE_ALL(largest_combine);
KERNEL_TABLE_ALL(smallest_reduce);
KERNEL_TABLE_ALL(smallest_combine);
KERNEL_TABLE_FLOAT(extreme_put);

/* The attributes that messages show are dim and keepdim; `dim` is printed from the mask. */
const adz_field adzi_extreme_fields[5] = { ADZI_FIELD_MASK(adzi_extreme_attr, mask, "dim"),
    ADZI_FIELD(adzi_extreme_attr, keepdim), ADZI_FIELD_HIDDEN(adzi_extreme_attr, dim),
    ADZI_FIELD_HIDDEN(adzi_extreme_attr, nan_is_it),
    ADZI_FIELD_HIDDEN(adzi_extreme_attr, smallest) };

/* Launches the reduction for either kind. y or indices is NULL if nobody asks for it. The state of
 * a block is one value and its index, 16 bytes at most. */
static void run(adz_tensor *y, adz_tensor *found, const adz_tensor *x, const adzi_extreme_attr *at)
{
    adzi_reducer reducer = { .state = 16 };
    /* A NaN wins over every number, in either direction. */
    if (!at->smallest) {
        reducer.run = KERNEL_FOR(largest_reduce, x->dtype);
        reducer.join = KERNEL_FOR(largest_combine, x->dtype);
    } else {
        reducer.run = KERNEL_FOR(smallest_reduce, x->dtype);
        reducer.join = KERNEL_FOR(smallest_combine, x->dtype);
    }
    adzi_reduce(reducer, y, found, x, at->mask);
}

/* ---- forward --------------------------------------------------------------------------------- */

adz_status adzi_extreme_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    const adzi_extreme_attr *at = block;
    adzi_reduce_shape(y, in[0], at->mask, at->keepdim);
    return ADZ_OK;
}

adz_status adzi_extreme_index_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    y->dtype = ADZ_I64;
    return adzi_extreme_shape(y, in, block);
}

void adzi_extreme_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    run(y[0], NULL, in[0], block);
}

void adzi_extreme_index_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    run(NULL, y[0], in[0], block);
}

/* There is no extreme of no elements, so an empty dimension is refused. */
bool adzi_extreme_dims(const char *op, adz_tensor *x, adz_dims dims, adzi_extreme_attr *attr)
{
    attr->dim = -1;
    return adzi_reduce_mask(op, x, dims, &attr->mask) && adzi_want_elements(op, x, attr->mask);
}

bool adzi_extreme_index_dims(const char *op, adz_tensor *x, adz_dims dims, adzi_extreme_attr *attr)
{
    if (!adzi_extreme_dims(op, x, dims, attr)) {
        return false;
    }
    /* PyTorch refuses bool here, too. */
    if (x->dtype == ADZ_BOOL) {
        adzi_error(
            op, ADZ_ERR_DTYPE, "x%s is bool, which has no %s; use adz_to", adzi_text_shape(x), op);
        return false;
    }
    /* An index along several dimensions at once would not say in which order they are counted. */
    if (dims.count > 1) {
        adzi_error(op, ADZ_ERR_DIM,
            "%d dimensions were given; an index counts along one, or with ADZ_ALL_DIMS through all",
            dims.count);
        return false;
    }
    return true;
}

/* A scalar has one element and no dimension to reduce, so its index is 0. */
bool adzi_extreme_dim_check(adzi_call *call, void *block)
{
    adzi_extreme_attr *at = block;
    const adz_tensor *x = call->in[0];
    at->dim = adzi_dim(call->op->name, x, at->dim);
    at->mask = x->rank > 0 && at->dim >= 0 ? 1u << at->dim : 0;
    return at->dim >= 0 && adzi_want_elements(call->op->name, x, at->mask);
}

/* The node keeps the indices, which are also the caller's second result. */
bool adzi_extreme_dim_prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    adz_tensor *found = adzi_new(call, ADZ_I64, y[0]->rank, y[0]->sizes);
    (void)in;
    y[1] = call->second = ((adzi_extreme_call *)block)->found = found;
    return found != NULL;
}

void adzi_extreme_dim_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_extreme_call *c = block;
    run(y[0], c->found, in[0], &c->at);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The first-one rule: a tensor of the shape of x that is dy at the saved indices and 0 elsewhere. A
 * slice is the elements along `dim`, and units of the launch are slices. */
static adz_tensor *scatter_to_found(adzi_node *node, adz_tensor *dy)
{
    const char *op = node->op->name;
    const adzi_extreme_attr *at = adzi_attr(node, adzi_extreme_attr);
    adz_tensor *found = adzi_saved_extra(node, 0);
    /* The node knows the shape of x, although it has not saved x. */
    adz_shape shape = adzi_input_shape(node, 0);
    /* dy is read by slices too, one element for each, and is made contiguous for that. */
    adz_tensor *values = found != NULL && dy != NULL ? adzi_compact(op, dy) : NULL;
    adz_tensor *dx =
        values != NULL ? adzi_scratch(op, (adz_dtype)dy->dtype, shape.rank, shape.sizes) : NULL;
    if (dx != NULL && dx->numel > 0) {
        adzi_slices_args args = { .in = { found->data, values->data }, .out = dx->data };
        int64_t slices = adzi_slices(&args, dx, at->dim);
        adzi_fill(dx, 0);
        adzi_launch(KERNEL_FOR(extreme_put, dx->dtype), adzi_slices_args, &args, slices,
            adzi_slices_grain(args.n));
    }
    return dx;
}

/* y in the shape that broadcasts to x. */
static adz_tensor *kept(adzi_node *node, adz_tensor *y)
{
    const adzi_extreme_attr *at = adzi_attr(node, adzi_extreme_attr);
    return y != NULL ? adz_reshape(y, adzi_kept_shape(adzi_input_shape(node, 0), at->mask)) : NULL;
}

/* The first-one rule: 1 at the saved indices and 0 elsewhere, in the shape of x. */
static adz_tensor *first_found(adzi_node *node, adz_dtype dtype)
{
    const adzi_extreme_attr *at = adzi_attr(node, adzi_extreme_attr);
    const adz_shape x = adzi_input_shape(node, 0);
    adz_shape along = { .rank = x.rank };
    for (int d = 0; d < x.rank; ++d) {
        along.sizes[d] = d == at->dim ? x.sizes[d] : 1;
    }
    const double n = x.rank > 0 ? (double)x.sizes[at->dim] : 1;
    adz_tensor *numbers = adz_reshape(adz_arange(0, n, 1, ADZ_I64), along);
    return adz_to(adz_eq(kept(node, adzi_saved_extra(node, 0)), numbers), dtype);
}

/* The rule by which ties share: 1 / c where x_i = y and 0 elsewhere, in the shape of x. */
static adz_tensor *tie_shares(adzi_node *node, adz_dtype dtype)
{
    const adzi_extreme_attr *at = adzi_attr(node, adzi_extreme_attr);
    adz_tensor *x = adzi_saved_input(node, 0), *y = kept(node, adzi_saved_result(node, 0));
    adz_tensor *tie = adz_eq(x, y);
    if (x == NULL) {
        return NULL;
    }
    if (at->nan_is_it) {
        tie = adz_logical_or(tie, adz_logical_and(adz_isnan(x), adz_isnan(y)));
    }
    adz_tensor *marks = adz_to(tie, dtype);
    adz_dims dims = { .count = 0 };
    for (int d = 0; d < x->rank; ++d) {
        if (at->mask & (1u << d)) {
            dims.dims[dims.count++] = d;
        }
    }
    return dims.count > 0 ? adz_div(marks, adz_sum(marks, dims, ADZ_KEEPDIM)) : marks;
}

/* dx = dy * share. The share is piecewise constant in x, so it is computed without a graph, and
 * only dy is differentiated again. */
adz_status adzi_extreme_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_extreme_attr *at = adzi_attr(node, adzi_extreme_attr);
    const adz_dtype dtype = (adz_dtype)dy[0]->dtype;
    adz_tensor *share = at->dim >= 0 ? first_found(node, dtype) : tie_shares(node, dtype);
    dx[0] = adz_mul(kept(node, dy[0]), share);
    return adzi_status(dx[0]);
}

/* Writes dy to its indices directly, without a product with ones and zeros. The rule by which ties
 * share has no fused kernel and takes the expression. */
adz_status adzi_extreme_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (adzi_attr(node, adzi_extreme_attr)->dim < 0) {
        return adzi_extreme_backward(node, dx, dy);
    }
    dx[0] = scatter_to_found(node, dy[0]);
    return adzi_status(dx[0]);
}
