/* Operators that read or write at indices: embedding, index_select, gather, scatter and its kin,
 * one_hot, and the gradient of rows. */
#include <stdio.h>
#include <string.h>

#include "adze/ops/index.h"
#include "export/c99/printer.h"

static int dim_of(const adzi_c99_call *call)
{
    return (int)adzi_c99_attr(call, "dim", 0);
}

/* The rows of `table`, along `dim`, at the indices `ids`. The dimension becomes those of ids: the
 * rows of a result y[before..., ids..., after...]. */
typedef struct {
    const adzi_c99_value *table, *ids, *y;
    int dim;
    adzi_c99_nest loops_before, loops_ids, loops_after;
    char from[3 * ADZI_C99_TEXT], to[ADZI_C99_TEXT],
        id[ADZI_C99_TEXT]; /* the elements of table, y and ids */
} lookup;

/* A value from one of its dimensions on. */
typedef struct {
    const adzi_c99_value *value;
    int dim;
} dims_from;

/* Opens the loops over dimensions of `first` and `second` that have the same sizes. */
static void open_part(adzi_c99 *c, adzi_c99_nest *nest, int rank, dims_from first, dims_from second)
{
    adzi_c99_value a = *first.value, b = *second.value;
    a.rank = b.rank = rank;
    a.offset = b.offset = 0;
    for (int d = 0; d < rank; ++d) {
        a.sizes[d] = b.sizes[d] = second.value->sizes[second.dim + d];
        a.strides[d] = first.value->strides[first.dim + d];
        b.strides[d] = second.value->strides[second.dim + d];
    }
    *nest = adzi_c99_nest_of(rank, b.sizes);
    adzi_c99_nest_add(nest, &a);
    adzi_c99_nest_add(nest, &b);
    nest->operand[0].memory = nest->operand[1].memory = -1;
    adzi_c99_nest_open(c, nest);
}

/* Opens the loops of a lookup and fills the texts of the three elements. */
static void open_lookup(adzi_c99 *c, lookup *l)
{
    const adzi_c99_value *table = l->table, *ids = l->ids, *y = l->y;
    const int dim = l->dim;
    open_part(c, &l->loops_before, dim, (dims_from){ table, 0 }, (dims_from){ y, 0 });
    open_part(c, &l->loops_ids, ids->rank, (dims_from){ ids, 0 }, (dims_from){ y, dim });
    char at[ADZI_C99_INDEX] = "";
    if (ids->offset != 0) {
        snprintf(at, sizeof at, "%lld", (long long)ids->offset);
    }
    adzi_c99_join(at, sizeof at, l->loops_ids.operand[0].index);
    adzi_c99_element(c, ids->memory, at, l->id, sizeof l->id);
    open_part(c, &l->loops_after, table->rank - dim - 1, (dims_from){ table, dim + 1 },
        (dims_from){ y, dim + ids->rank });
    char row[ADZI_C99_TEXT + 24], index[ADZI_C99_TEXT + ADZI_C99_INDEX] = "";
    if (table->offset != 0) {
        snprintf(index, sizeof index, "%lld", (long long)table->offset);
    }
    adzi_c99_join(index, sizeof index, l->loops_before.operand[0].index);
    snprintf(row, sizeof row, "%s * %lld", l->id, (long long)table->strides[dim]);
    adzi_c99_join(index, sizeof index, row);
    adzi_c99_join(index, sizeof index, l->loops_after.operand[0].index);
    adzi_c99_element(c, table->memory, index, l->from, sizeof l->from);
    index[0] = '\0';
    if (y->offset != 0) {
        snprintf(index, sizeof index, "%lld", (long long)y->offset);
    }
    adzi_c99_join(index, sizeof index, l->loops_before.operand[1].index);
    adzi_c99_join(index, sizeof index, l->loops_ids.operand[1].index);
    adzi_c99_join(index, sizeof index, l->loops_after.operand[1].index);
    adzi_c99_element(c, y->memory, index, l->to, sizeof l->to);
}

static void close_lookup(adzi_c99 *c, lookup *l)
{
    adzi_c99_nest_close(c, &l->loops_after);
    adzi_c99_nest_close(c, &l->loops_ids);
    adzi_c99_nest_close(c, &l->loops_before);
}

static void print_lookup(adzi_c99 *c, lookup l)
{
    open_lookup(c, &l);
    adzi_c99_line(c, "%s = %s;", l.to, l.from);
    close_lookup(c, &l);
}

/* embedding(ids, weight). */
ADZI_C99_PRINTER(embedding)
{
    print_lookup(c, (lookup){ .table = adzi_c99_in(c, call, 1),
                        .ids = adzi_c99_in(c, call, 0),
                        .y = adzi_c99_out(c, call, 0) });
}

/* index_select(x, index), and the library's own "rows". */
ADZI_C99_PRINTER(index_select)
{
    print_lookup(c, (lookup){ .table = adzi_c99_in(c, call, 0),
                        .ids = adzi_c99_in(c, call, 1),
                        .y = adzi_c99_out(c, call, 0),
                        .dim = dim_of(call) });
}

/* The sums of the rows of y that belong to each row of x. Rows at the index -1 belong to none. */
ADZI_C99_PRINTER(rows_sum)
{
    const adzi_c99_value *x = adzi_c99_out(c, call, 0);
    lookup l = { .table = x,
        .ids = adzi_c99_in(c, call, 1),
        .y = adzi_c99_in(c, call, 0),
        .dim = dim_of(call) };
    adzi_c99_map(c, x, "= 0", NULL);
    open_lookup(c, &l);
    adzi_c99_open(c, "if (%s >= 0) {", l.id);
    adzi_c99_line(c, "%s += %s;", l.from, l.to);
    adzi_c99_close(c);
    close_lookup(c, &l);
}

/* What scatter prints for the element of y at the index, by the element of src. */
static void scatter_line(
    adzi_c99 *c, adz_dtype dtype, adz_scatter_reduction reduce, const char *y, const char *src)
{
    const bool whole = dtype == ADZ_I32 || dtype == ADZ_I64, bools = dtype == ADZ_BOOL;
    const bool largest = reduce == ADZ_SCATTER_AMAX;
    if (reduce == ADZ_SCATTER_SUM || reduce == ADZ_SCATTER_PROD) {
        const char sign = reduce == ADZ_SCATTER_SUM ? '+' : '*';
        if (whole) { /* wraps */
            adzi_c99_line(c, "%s = (int32_t)((uint32_t)%s %c (uint32_t)%s);", y, y, sign, src);
        } else if (bools) {
            adzi_c99_line(c, "%s = %s %s %s;", y, y, sign == '+' ? "||" : "&&", src);
        } else {
            adzi_c99_line(c, "%s %c= %s;", y, sign, src);
        }
        return;
    }
    adzi_c99_open(c, adzi_is_float(dtype) ? "if (%s %c %s || %s != %s) {" : "if (%s %c %s) {", src,
        largest ? '>' : '<', y, src, src);
    adzi_c99_line(c, "%s = %s;", y, src);
    adzi_c99_close(c);
}

/* What a line of gather does. */
typedef enum { TAKE, WRITE, REDUCE } motion;

/* gather(x, index): y[i, j] = x[index[i, j], j] for dim 0, or x[index[i, j], j] = y[i, j], or that
 * reduced. Loops run over the index, and y may be larger than it. */
static void gather(adzi_c99 *c, const lookup *l, motion what, adz_scatter_reduction reduce)
{
    const adzi_c99_value *x = l->table, *index = l->ids, *y = l->y;
    const int dim = l->dim;
    adzi_c99_value slice = *x, part = *y;
    for (int d = 0; d < x->rank; ++d) {
        slice.sizes[d] = part.sizes[d] = index->sizes[d];
    }
    const int64_t stride = x->rank > 0 ? x->strides[dim] : 1;
    if (x->rank > 0) {
        slice.strides[dim] = 0;
    }
    adzi_c99_nest nest = adzi_c99_nest_of(index->rank, index->sizes);
    const int at = adzi_c99_nest_add(&nest, index), to = adzi_c99_nest_add(&nest, &part);
    const int from = adzi_c99_nest_add(&nest, &slice);
    nest.operand[from].memory = -1;
    adzi_c99_nest_open(c, &nest);
    char position[2 * ADZI_C99_TEXT] = "", step[ADZI_C99_TEXT + 24],
                      element[2 * ADZI_C99_TEXT + ADZI_C99_NAME];
    adzi_c99_join(position, sizeof position, nest.operand[from].index);
    snprintf(step, sizeof step, "%s * %lld", nest.operand[at].text, (long long)stride);
    adzi_c99_join(position, sizeof position, step);
    adzi_c99_element(c, x->memory, position, element, sizeof element);
    const char *from_y = nest.operand[to].text;
    if (what == REDUCE) {
        scatter_line(c, x->dtype, reduce, element, from_y);
    } else {
        adzi_c99_line(
            c, "%s = %s;", what == TAKE ? from_y : element, what == TAKE ? element : from_y);
    }
    adzi_c99_nest_close(c, &nest);
}

ADZI_C99_PRINTER(gather)
{
    const lookup l = { .table = adzi_c99_in(c, call, 0),
        .ids = adzi_c99_in(c, call, 1),
        .y = adzi_c99_out(c, call, 0),
        .dim = dim_of(call) };
    gather(c, &l, TAKE, ADZ_SCATTER_SUM);
}

/* y = x, then what `what` says, for scatter(x, index, src) and its kin. */
static void scatter(
    adzi_c99 *c, const adzi_c99_call *call, motion what, adz_scatter_reduction reduce)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    if (!call->inplace) {
        adzi_c99_map(c, y, "= $a", adzi_c99_in(c, call, 0));
    }
    const lookup l = { .table = y,
        .ids = adzi_c99_in(c, call, 1),
        .y = adzi_c99_in(c, call, 2),
        .dim = dim_of(call) };
    gather(c, &l, what, reduce);
}

/* y[index[i, j], j] = src[i, j] for dim 0. */
ADZI_C99_PRINTER(scatter)
{
    scatter(c, call, WRITE, ADZ_SCATTER_SUM);
}

/* y[index[i, j], j] += src[i, j] for dim 0. */
ADZI_C99_PRINTER(scatter_add)
{
    scatter(c, call, REDUCE, ADZ_SCATTER_SUM);
}

ADZI_C99_PRINTER(scatter_reduce)
{
    const int reduce = (int)adzi_c99_attr(call, "reduce", 0);
    scatter(c, call, REDUCE, (adz_scatter_reduction)reduce);
}

/* one_hot(ids): y[..., k] = ids[...] == k. */
ADZI_C99_PRINTER(one_hot)
{
    const adzi_c99_value *ids = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_value first = adzi_c99_without(y, y->rank - 1);
    adzi_c99_nest nest = adzi_c99_nest_of(ids->rank, ids->sizes);
    adzi_c99_nest_add(&nest, ids);
    adzi_c99_nest_add(&nest, &first);
    nest.operand[1].memory = -1;
    adzi_c99_nest_open(c, &nest);
    char k[4], index[ADZI_C99_INDEX], element[ADZI_C99_TEXT];
    adzi_c99_loop(c, y->sizes[y->rank - 1], k);
    memcpy(index, nest.operand[1].index, sizeof index);
    adzi_c99_index(index, sizeof index, k, y->strides[y->rank - 1]);
    adzi_c99_element(c, y->memory, index, element, sizeof element);
    adzi_c99_line(c, "%s = %s == %s;", element, nest.operand[0].text, k);
    adzi_c99_end(c);
    adzi_c99_nest_close(c, &nest);
}
