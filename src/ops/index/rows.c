#include <string.h>

#include "ops/index/rows.h"

#include "ops/index/indices.h"
#include "ops/index/rows.kernel.h"

/* Takes rows of a tensor by their numbers, and sums rows back to their numbers.
 *
 *     take:  y[o, i, :] = x[o, index[i], :]
 *     sum:   x[o, v, :] = sum of y[o, i, :] over the i with index[i] = v
 *
 * x[outer, S, inner] is contiguous, index has any shape and n elements, and y is [outer, n, inner].
 * Each of the two operators is the derivative of the other one, so embedding and index_select can
 * be differentiated to any order. Both save the index only. Row number -1 is zeros when it is taken
 * and is dropped when it is summed. */

KERNEL_TABLE_FLOAT(rows_sum);

/* ---- taking -------------------------------------------------------------------------------- */

/* The sizes of the index replace the size of x along `dim`. The product may overflow, which is
 * refused here. */
bool adzi_rows_sizes(
    const char *op, const adz_tensor *x, int dim, const adz_tensor *index, adz_shape *shape)
{
    shape->rank = x->rank - 1 + index->rank;
    if (shape->rank > ADZ_MAX_RANK) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "rows of x%s at index%s have %d dimensions, more than the %d there can be",
            adzi_text_shape(x), adzi_text_shape(index), shape->rank, ADZ_MAX_RANK);
        return false;
    }
    int n = 0;
    for (int i = 0; i < dim; ++i) {
        shape->sizes[n++] = x->sizes[i];
    }
    for (int i = 0; i < index->rank; ++i) {
        shape->sizes[n++] = index->sizes[i];
    }
    for (int i = dim + 1; i < x->rank; ++i) {
        shape->sizes[n++] = x->sizes[i];
    }
    int64_t numel;
    return adzi_check_sizes(op, shape->rank, shape->sizes, (adz_dtype)x->dtype, &numel) == ADZ_OK;
}

/* Arguments of take_rows. Units are rows of y: unit r is row r % n of outer index r / n. */
typedef struct {
    const char *x; /* [outer, size] rows */
    char *y;       /* [outer, n] rows */
    const int64_t *index;
    int64_t n;     /* elements of the index */
    int64_t size;  /* rows of x per outer index */
    int64_t bytes; /* of one row */
} take_args;

ADZI_ADDRESSES(take_args, x, y, index);

/* Units are rows of y. Only memory moves, so there is nothing to compile per instruction set. */
static void take_rows(const void *block, int64_t begin, int64_t end)
{
    const take_args *args = block;
    size_t bytes = (size_t)args->bytes;
    for (int64_t r = begin; r < end; ++r) {
        int64_t from = args->index[r % args->n];
        char *y = args->y + r * args->bytes;
        if (from < 0) {
            memset(y, 0, bytes);
        } else {
            memcpy(y, args->x + (r / args->n * args->size + from) * args->bytes, bytes);
        }
    }
}

/* A row is the elements behind dimension `dim`, which are contiguous. */
void adzi_rows_copy(adz_tensor *y, const adz_tensor *x, int dim, const adz_tensor *index)
{
    if (y->numel == 0) {
        return;
    }
    int64_t row = adzi_numel(x->rank - dim - 1, x->sizes + dim + 1);
    take_args args = { .x = x->data,
        .y = y->data,
        .index = adzi_index_data(index),
        .n = index->numel,
        .size = x->sizes[dim],
        .bytes = row * (int64_t)adzi_item_size(x) };
    adzi_launch(
        take_rows, take_args, &args, y->numel / row, adzi_grain_of(ADZI_POINTWISE_GRAIN, row));
}

/* The attributes of both operators of this file. */
typedef struct {
    int dim;
    int64_t size; /* rows that x has */
} rows_attr;

static const adz_field fields[] = { ADZI_FIELD(rows_attr, dim), ADZI_FIELD(rows_attr, size) };

/* dx = the rows of dy, summed back to the rows that they were taken from. */
static adz_status take_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const rows_attr *at = adzi_attr(node, rows_attr);
    dx[0] = adzi_rows_sum(dy[0], at->dim, adzi_saved_input(node, 1), at->size);
    return adzi_status(dx[0]);
}

static adz_status take_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    rows_attr *at = block;
    at->size = in[0]->sizes[at->dim];
    return adzi_form_status(adzi_rows_sizes("rows", in[0], at->dim, in[1], &y->shape));
}

static void launch_take(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const rows_attr *at = block;
    adzi_rows_copy(y[0], in[0], at->dim, in[1]);
}

static const adzi_op adzi_op_take = { .name = "rows",
    .backward = take_backward,
    ADZI_ATTRIBUTES(rows_attr, fields),
    .shape_rule = take_shape,
    .saved_inputs = 1u << 1 };

/* The index has been checked by the operator whose backward asks for the rows. */
static adz_tensor *recorded_rows(adz_tensor *x, int dim, adz_tensor *index)
{
    return ADZI_RUN(take, launch_take, &(rows_attr){ .dim = dim }, x, index);
}

/* ---- summing ------------------------------------------------------------------------------- */

/* Each row that was summed receives the upstream gradient of the row that it was added to. */
static adz_status sum_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = recorded_rows(dy[0], adzi_attr(node, rows_attr)->dim, adzi_saved_input(node, 1));
    return adzi_status(dx[0]);
}

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    rows_attr at;
    adz_tensor *starts, *order; /* of the sorted index */
} sum_arguments;

/* Arguments of sort_positions, which has one unit. The index is walked twice in order. */
typedef struct {
    const int64_t *index;
    int64_t n;       /* indices */
    int64_t size;    /* rows */
    int64_t *starts; /* [size + 2] */
    int64_t *order;  /* [n] */
    int64_t *bad;    /* the result: the position of the first index out of range, or n */
} sort_args;

ADZI_ADDRESSES(sort_args, index, starts, order, bad);

/* A counting sort of the positions of the index by the row that they name. The positions of row v
 * are order[starts[v]] .. order[starts[v + 1] - 1], in ascending order. So each row is summed by
 * one unit in a fixed order, and threads change no bit. An index of -1 or out of range is left out.
 * There is one unit, because all positions share the counters. */
static void sort_positions(const void *block, int64_t begin, int64_t end)
{
    const sort_args *args = block;
    const int64_t *at = args->index, size = args->size;
    int64_t *start = args->starts;
    if (begin == end) {
        return;
    }
    *args->bad = args->n;
    /* Counts are kept two positions further, so that the prefix sums below become starts one
     * position further. */
    memset(start, 0, (size_t)(size + 2) * sizeof *start);
    for (int64_t i = 0; i < args->n; ++i) {
        if (at[i] >= 0 && at[i] < size) {
            ++start[at[i] + 2];
        } else if (at[i] != -1 && *args->bad == args->n) {
            *args->bad = i;
        }
    }
    for (int64_t v = 2; v < size + 2; ++v) {
        start[v] += start[v - 1];
    }
    for (int64_t i = 0; i < args->n; ++i) { /* moves starts[v + 1] from v's start to its end */
        if (at[i] >= 0 && at[i] < size) {
            args->order[start[at[i] + 1]++] = i;
        }
    }
}

/* Sorts the index; false with the error recorded if an index is out of range. `starts` has one
 * element more than the size + 2 that the rows need, for the flag `bad`. The forward has checked
 * the index, but the user may have changed it since. */
static bool sort_index(adzi_call *call, adz_tensor **x, adz_tensor *const *in, void *block)
{
    sum_arguments *a = block;
    const adz_tensor *index = in[1];
    const int64_t size = a->at.size;
    (void)call, (void)x;
    a->starts = adzi_scratch("rows_sum", ADZ_I64, 1, &(int64_t){ size + 3 });
    a->order = adzi_scratch("rows_sum", ADZ_I64, 1, &index->numel);
    if (a->starts == NULL || a->order == NULL) {
        return false;
    }
    int64_t *start = adzi_index_data(a->starts);
    const sort_args args = { adzi_index_data(index), index->numel, size, start,
        adzi_index_data(a->order), start + size + 2 };
    adzi_launch(sort_positions, sort_args, &args, 1, 1);
    if (*args.bad < index->numel) {
        adzi_error("rows_sum", ADZ_ERR_INDEX,
            "index %lld is none of %lld rows; it has changed since the forward",
            (long long)args.index[*args.bad], (long long)size);
        return false;
    }
    return true;
}

/* The dimensions of the index are replaced by one for the rows. */
static adz_status sum_shape(adz_result *x, adz_tensor *const *in, void *block)
{
    const rows_attr *at = block;
    const adz_tensor *y = in[0];
    int n = at->dim; /* the sizes before it are those of y */
    x->shape.sizes[n++] = at->size;
    for (int i = at->dim + in[1]->rank; i < y->rank; ++i) {
        x->shape.sizes[n++] = y->sizes[i];
    }
    x->shape.rank = n;
    return ADZ_OK;
}

/* Units of the launch are blocks of ADZI_ROWS_BLOCK elements of a row of x: a row may be long. */
static void launch_sum(adz_tensor *const *x, adz_tensor *const *in, const void *block)
{
    const sum_arguments *a = block;
    if (x[0]->numel == 0) {
        return;
    }
    const int64_t row = adzi_numel(x[0]->rank - a->at.dim - 1, x[0]->sizes + a->at.dim + 1);
    adzi_rows_sum_args args = { .y = in[0]->data,
        .x = x[0]->data,
        .starts = adzi_index_data(a->starts),
        .order = adzi_index_data(a->order),
        .n = in[1]->numel,
        .size = a->at.size,
        .row = row,
        .blocks = (row + ADZI_ROWS_BLOCK - 1) / ADZI_ROWS_BLOCK };
    adzi_launch(KERNEL_FOR(rows_sum, x[0]->dtype), adzi_rows_sum_args, &args,
        x[0]->numel / row * args.blocks,
        adzi_grain_of(ADZI_POINTWISE_GRAIN, row < ADZI_ROWS_BLOCK ? row : ADZI_ROWS_BLOCK));
}

static const adzi_op adzi_op_put = { .name = "rows_sum",
    .backward = sum_backward,
    ADZI_ATTRIBUTES(rows_attr, fields),
    .shape_rule = sum_shape,
    .saved_inputs = 1u << 1,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adzi_rows_sum(adz_tensor *y, int dim, adz_tensor *index, int64_t size)
{
    static const adzi_steps steps = { .prepare = sort_index, .launch = launch_sum };
    sum_arguments arguments = { .at = { dim, size } };
    return ADZI_RUN_STEPS(&adzi_op_put, steps, &arguments, y, index);
}
