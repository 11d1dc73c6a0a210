#include "ops/index/rows.kernel.h"

#include "ops/index/indices.h"
#include "ops/index/nonzero.h"
#include "ops/shape/list.h"

/* Writes or adds values at coordinates, torch.index_put.
 *
 *     y = x;  y[i_0[k], i_1[k], ...] = values[k], or += values[k]
 *     dx      = dy, with 0 where a value was written
 *     dvalues = dy[i_0[k], i_1[k], ...], with 0 for a value that another one has replaced
 *
 * The coordinates count along the first dimensions of x. They become numbers of rows here, where a
 * row is what lies behind those dimensions. The operator itself has four inputs:
 *
 *     x       any shape, whose first `dims` dimensions are those of the rows
 *     rows    [n], i64: the number of a row of x for each row of values
 *     values  [n] and the dimensions of x behind the first `dims`
 *     order   [n], i64: the positions of `rows`, sorted by the row, equal rows in their order
 *
 * The node saves rows and order. */

typedef struct {
    int dims; /* dimensions of x that are indexed, 1 or more */
    bool accumulate;
} put_attr;

static adz_tensor *put(
    adz_tensor *x, adz_tensor *rows, adz_tensor *values, adz_tensor *order, put_attr at);

/* The shape [m, the dimensions of x behind the first `dims`]. */
static adz_shape with_rows(adz_shape x, int dims, int64_t m)
{
    adz_shape shape = { .rank = x.rank - dims + 1 };
    shape.sizes[0] = m;
    for (int d = dims; d < x.rank; ++d) {
        shape.sizes[d - dims + 1] = x.sizes[d];
    }
    return shape;
}

/* [n], bool: whether the position of the order is the last one with its row. */
static adz_tensor *ends(adz_tensor *rows, adz_tensor *order)
{
    const int64_t n = rows->numel;
    adz_tensor *last = adz_ones(ADZ_SHAPE(1), ADZ_BOOL);
    if (n < 2) {
        return last;
    }
    adz_tensor *sorted = adz_index_select(rows, 0, order);
    adz_tensor *next = adz_narrow(sorted, 0, 1, n - 1), *own = adz_narrow(sorted, 0, 0, n - 1);
    adz_tensor *parts[] = { adz_ne(next, own), last };
    return adz_cat(parts, 2, 0);
}

/* The shape of a mask of rows that broadcasts with them. */
static adz_shape mask_shape(const adz_tensor *rows)
{
    adz_shape shape = { .rank = rows->rank };
    for (int d = 0; d < rows->rank; ++d) {
        shape.sizes[d] = d == 0 ? rows->sizes[0] : 1;
    }
    return shape;
}

/* Upstream gradients of values; those of values that were replaced are 0. */
static adz_tensor *values_gradient(adzi_node *node, adz_tensor *dy)
{
    const put_attr *at = adzi_attr(node, put_attr);
    adz_tensor *rows = adzi_saved_input(node, 1), *order = adzi_saved_input(node, 3);
    if (rows == NULL || order == NULL) {
        return NULL;
    }
    const int64_t m = adzi_numel(at->dims, dy->sizes), n = rows->numel;
    adz_tensor *flat = adz_reshape(dy, with_rows(adz_tensor_shape(dy), at->dims, m));
    adz_tensor *taken = adz_index_select(flat, 0, rows);
    if (at->accumulate || n < 2 || taken == NULL) {
        return taken;
    }
    adz_tensor *wins = adz_to(ends(rows, order), ADZ_I64);
    adz_tensor *won = adz_scatter_add(adz_zeros(ADZ_SHAPE(n), ADZ_I64), 0, order, wins);
    return adz_masked_fill(taken, adz_reshape(adz_eq_number(won, 0), mask_shape(taken)), 0);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const put_attr *at = adzi_attr(node, put_attr);
    adz_tensor *rows = adzi_saved_input(node, 1);
    if (adzi_needs(node, 0) && at->accumulate) {
        dx[0] = dy[0];
    } else if (adzi_needs(node, 0) && rows != NULL) {
        const adz_shape shape = with_rows(adz_tensor_shape(dy[0]), at->dims, rows->numel);
        adz_tensor *zeros = adz_zeros(shape, (adz_dtype)dy[0]->dtype);
        dx[0] = put(dy[0], rows, zeros, adzi_saved_input(node, 3), *at);
    }
    if (adzi_needs(node, 2)) {
        dx[2] = values_gradient(node, dy[0]);
    }
    const bool failed =
        (adzi_needs(node, 0) && dx[0] == NULL) || (adzi_needs(node, 2) && dx[2] == NULL);
    return failed ? adzi_status(NULL) : ADZ_OK;
}

/* The forward as an expression. For each row of y, the position of the last value that goes there
 * is found, plus 1, or 0 for none. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const put_attr *at = block;
    adz_tensor *rows = in[1], *order = in[3];
    const adz_shape shape = adz_tensor_shape(in[0]);
    const int64_t m = adzi_numel(at->dims, shape.sizes), n = rows->numel;
    adz_tensor *x = adz_reshape(in[0], with_rows(shape, at->dims, m));
    if (x == NULL || n == 0) {
        y[0] = adz_clone(in[0]);
        return adzi_status(y[0]);
    }
    if (at->accumulate) {
        adz_tensor *index =
            adz_expand(adz_reshape(rows, mask_shape(in[2])), adz_tensor_shape(in[2]));
        y[0] = adz_reshape(adz_scatter_add(x, 0, index, in[2]), shape);
        return adzi_status(y[0]);
    }
    adz_tensor *last =
        adz_where(ends(rows, order), adz_add_number(order, 1), adz_zeros(ADZ_SHAPE(n), ADZ_I64));
    adz_tensor *from = adz_scatter_add(
        adz_zeros(ADZ_SHAPE(m), ADZ_I64), 0, adz_index_select(rows, 0, order), last);
    adz_tensor *written = adz_gt_number(from, 0);
    adz_tensor *at_most = adz_where(written, adz_sub_number(from, 1), adz_scalar(0, ADZ_I64));
    adz_tensor *values = adz_index_select(in[2], 0, at_most);
    y[0] = adz_reshape(adz_where(adz_reshape(written, mask_shape(x)), values, x), shape);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD_HIDDEN(put_attr, dims),
    ADZI_FIELD(put_attr, accumulate) };

KERNEL_TABLE_ALL(index_put);

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    put_attr at;
    adz_tensor *to; /* y, or a contiguous copy by way of which a strided y is written */
} put_arguments;

static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    put_arguments *a = block;
    (void)call, (void)in;
    a->to = adzi_is_contiguous(y[0]) ? y[0] : adzi_scratch_like("index_put", y[0]);
    return a->to != NULL;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const put_arguments *a = block;
    const adz_tensor *rows = in[1], *values = in[2], *order = in[3];
    if (a->to != in[0]) {
        adzi_copy(a->to, in[0]);
    }
    if (values->numel > 0) {
        const int64_t n = rows->numel, row = values->numel / n;
        const adzi_put_args args = { a->to->data, values->data, adzi_index_data(rows),
            adzi_index_data(order), n, row, a->at.accumulate };
        adzi_launch(KERNEL_FOR(index_put, y[0]->dtype), adzi_put_args, &args, n,
            adzi_grain_of(ADZI_POINTWISE_GRAIN, row));
    }
    if (a->to != y[0]) {
        adzi_copy(y[0], a->to);
    }
}

const adzi_op adzi_op_index_put = { .name = "index_put",
    .backward = backward,
    ADZI_ATTRIBUTES(put_attr, fields),
    .expression = expression,
    .strided_inputs = 1u << 0,
    .saved_inputs = 1u << 1 | 1u << 3,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

static const adzi_steps steps = { .prepare = prepare, .launch = launch };

static adz_tensor *put(
    adz_tensor *x, adz_tensor *rows, adz_tensor *values, adz_tensor *order, put_attr at)
{
    put_arguments a = { .at = at };
    return ADZI_RUN_STEPS(&adzi_op_index_put, steps, &a, x, rows, values, order);
}

/* In place, values and rows that share memory with x are copied: a row may be read after it was
 * written. */
static bool move_from(adz_tensor **t, const adz_tensor *x)
{
    if (*t != NULL && (*t)->storage == x->storage) {
        *t = adz_clone(*t);
    }
    return *t != NULL;
}

static adz_tensor *put_(
    adz_tensor *x, adz_tensor *rows, adz_tensor *values, adz_tensor *order, put_attr at)
{
    put_arguments a = { .at = at };
    return move_from(&rows, x) && move_from(&values, x)
               ? ADZI_RUN_STEPS_(&adzi_op_index_put, steps, &a, x, rows, values, order)
               : NULL;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

/* The coordinates that a list of index tensors names: one tensor for each dimension. */
typedef struct {
    adz_tensor *along[ADZ_MAX_RANK];
    int dims;
    adz_shape shape; /* to which they broadcast */
} coordinates;

/* Appends the coordinates of the elements at which a mask is true. It counts for as many dimensions
 * as it has. */
static bool add_mask(coordinates *c, const adz_tensor *x, adz_tensor *mask)
{
    static const char op[] = "index_put";
    bool fits = mask->rank > 0 && c->dims + mask->rank <= x->rank;
    for (int d = 0; d < mask->rank && fits; ++d) {
        fits = mask->sizes[d] == x->sizes[c->dims + d];
    }
    if (!fits) {
        adzi_error(op, ADZ_ERR_SHAPE, "the mask%s does not have the sizes of x%s from dimension %d",
            adzi_text_shape(mask), adzi_text_shape(x), c->dims);
        return false;
    }
    adz_tensor *at = adzi_elements_decide(op, mask) ? adz_nonzero(mask) : NULL;
    for (int d = 0; d < mask->rank && at != NULL; ++d) {
        adz_tensor *column = adz_select(at, 1, d);
        at = column != NULL ? at : NULL;
        c->along[c->dims++] = column;
    }
    return at != NULL;
}

/* What indices count, for messages. A replay of a plan reads the texts, too. */
static const char *const positions[ADZ_MAX_RANK] = { "positions of dimension 0 of x",
    "positions of dimension 1 of x", "positions of dimension 2 of x",
    "positions of dimension 3 of x", "positions of dimension 4 of x",
    "positions of dimension 5 of x", "positions of dimension 6 of x",
    "positions of dimension 7 of x" };

/* Appends one tensor of coordinates, all of which must be in x. */
static bool add_index(coordinates *c, const adz_tensor *x, adz_tensor *index)
{
    static const char op[] = "index_put";
    if (index->dtype == ADZ_BOOL) {
        return add_mask(c, x, index);
    }
    if (index->dtype != ADZ_I64 && index->dtype != ADZ_I32) {
        adzi_error(op, ADZ_ERR_DTYPE, "an index is %s, but must be int64, int32 or a bool mask",
            adz_dtype_name((adz_dtype)index->dtype));
        return false;
    }
    if (c->dims == x->rank) {
        adzi_error(
            op, ADZ_ERR_SHAPE, "there are more indices than dimensions of x%s", adzi_text_shape(x));
        return false;
    }
    adz_tensor *at = adzi_indices_of(op, index, x->sizes[c->dims], positions[c->dims], x);
    if (at == NULL) {
        return false;
    }
    c->along[c->dims++] = at;
    return true;
}

static bool find(coordinates *c, const adz_tensor *x, adz_tensor *const *indices, size_t n)
{
    *c = (coordinates){ .dims = 0 };
    if (!adzi_check_tensor("index_put", "x", x) || !adzi_check_list("index_put", indices, n)) {
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (!add_index(c, x, indices[i])) {
            return false;
        }
    }
    for (int i = 0; i < c->dims; ++i) {
        if (!adzi_broadcast_with("index_put", &c->shape.rank, c->shape.sizes, c->along[i])) {
            return false;
        }
    }
    return true;
}

/* The number of the row for each coordinate, as a vector. */
static adz_tensor *rows_of(const coordinates *c, const adz_tensor *x)
{
    adz_tensor *rows = c->along[0];
    for (int d = 1; d < c->dims && rows != NULL; ++d) {
        rows = adz_add(adz_mul_number(rows, (double)x->sizes[d]), c->along[d]);
    }
    return adz_reshape(
        adz_expand(rows, c->shape), ADZ_SHAPE(adzi_numel(c->shape.rank, c->shape.sizes)));
}

/* The values with a row for each coordinate. */
static adz_tensor *values_of(const coordinates *c, const adz_tensor *x, adz_tensor *values)
{
    static const char op[] = "index_put";
    if (!adzi_check_tensor(op, "values", values)) {
        return NULL;
    }
    if (values->dtype != x->dtype) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "x is %s, values %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)values->dtype));
    }
    adz_shape shape = c->shape;
    bool fits = shape.rank + x->rank - c->dims <= ADZ_MAX_RANK;
    for (int d = c->dims; d < x->rank && fits; ++d) {
        shape.sizes[shape.rank++] = x->sizes[d];
    }
    fits = fits && values->rank <= shape.rank;
    for (int d = 1; d <= values->rank && fits; ++d) {
        const int64_t have = values->sizes[values->rank - d];
        fits = have == 1 || have == shape.sizes[shape.rank - d];
    }
    if (!fits) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "values%s do not broadcast to the elements of x%s at indices of shape %s",
            adzi_text_shape(values), adzi_text_shape(x),
            adzi_text_sizes(c->shape.rank, c->shape.sizes));
    }
    const int64_t n = adzi_numel(c->shape.rank, c->shape.sizes);
    return adz_reshape(adz_expand(values, shape), with_rows(adz_tensor_shape(x), c->dims, n));
}

/* What the operator gets besides x: rows, values and order. */
typedef struct {
    adz_tensor *rows, *values, *order;
    int dims;
} put_inputs;

/* Finds them from the public arguments. False with the error recorded. */
static bool find_inputs(
    put_inputs *in, adz_tensor *x, adz_tensor *const *indices, size_t n, adz_tensor *values)
{
    coordinates c;
    if (!find(&c, x, indices, n)) {
        return false;
    }
    in->dims = c.dims;
    in->values = values_of(&c, x, values);
    in->rows = in->values != NULL ? rows_of(&c, x) : NULL;
    in->order = in->rows != NULL ? adz_argsort(in->rows, 0, false) : NULL;
    return in->order != NULL;
}

adz_tensor *adz_index_put(
    adz_tensor *x, adz_tensor *const *indices, size_t n, adz_tensor *values, bool accumulate)
{
    put_inputs in;
    return find_inputs(&in, x, indices, n, values)
               ? put(x, in.rows, in.values, in.order, (put_attr){ in.dims, accumulate })
               : NULL;
}

adz_tensor *adz_index_put_(
    adz_tensor *x, adz_tensor *const *indices, size_t n, adz_tensor *values, bool accumulate)
{
    put_inputs in;
    return find_inputs(&in, x, indices, n, values)
               ? put_(x, in.rows, in.values, in.order, (put_attr){ in.dims, accumulate })
               : NULL;
}
