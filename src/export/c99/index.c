/* Operators that read or write at indices: embedding, index_select, gather, scatter_add, one_hot,
 * and the gradient of rows. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

enum { TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

/* The rows of `table`, along `dim`, at the indices `ids`. The dimension becomes those of ids: the
 * rows of a result y[before..., ids..., after...]. */
typedef struct {
    adzi_c99_nest before, ids, after;
    char table[3 * TEXT], y[TEXT], id[TEXT];
} lookup;

static void open_part(adzi_c99 *c, adzi_c99_nest *nest, int rank, const int64_t *sizes,
    const adzi_c99_value *first, int first_dim, const adzi_c99_value *second, int second_dim)
{
    *nest = adzi_c99_nest_of(rank, sizes);
    adzi_c99_value a = *first, b = *second;
    a.rank = b.rank = rank;
    a.offset = b.offset = 0;
    for (int d = 0; d < rank; ++d) {
        a.sizes[d] = first->sizes[first_dim + d];
        a.strides[d] = first->strides[first_dim + d];
        b.sizes[d] = second->sizes[second_dim + d];
        b.strides[d] = second->strides[second_dim + d];
    }
    adzi_c99_nest_add(nest, &a);
    adzi_c99_nest_add(nest, &b);
    nest->operand[0].memory = nest->operand[1].memory = -1;
    adzi_c99_nest_open(c, nest);
}

/* Opens the loops of a lookup and fills the texts of the table's element, of y's and of the id. */
static void open_lookup(adzi_c99 *c, lookup *l, const adzi_c99_value *table,
    const adzi_c99_value *ids, const adzi_c99_value *y, int dim)
{
    open_part(c, &l->before, dim, y->sizes, table, 0, y, 0);
    open_part(c, &l->ids, ids->rank, ids->sizes, ids, 0, y, dim);
    char at[ADZI_C99_INDEX] = "";
    if (ids->offset != 0) {
        snprintf(at, sizeof at, "%lld", (long long)ids->offset);
    }
    adzi_c99_join(at, sizeof at, l->ids.operand[0].index);
    adzi_c99_element(c, ids->memory, at, l->id, sizeof l->id);
    const int after = table->rank - dim - 1;
    open_part(c, &l->after, after, table->sizes + dim + 1, table, dim + 1, y, dim + ids->rank);
    char row[TEXT + 24], index[TEXT + ADZI_C99_INDEX] = "";
    if (table->offset != 0) {
        snprintf(index, sizeof index, "%lld", (long long)table->offset);
    }
    adzi_c99_join(index, sizeof index, l->before.operand[0].index);
    snprintf(row, sizeof row, "%s * %lld", l->id, (long long)table->strides[dim]);
    adzi_c99_join(index, sizeof index, row);
    adzi_c99_join(index, sizeof index, l->after.operand[0].index);
    adzi_c99_element(c, table->memory, index, l->table, sizeof l->table);
    index[0] = '\0';
    if (y->offset != 0) {
        snprintf(index, sizeof index, "%lld", (long long)y->offset);
    }
    adzi_c99_join(index, sizeof index, l->before.operand[1].index);
    adzi_c99_join(index, sizeof index, l->ids.operand[1].index);
    adzi_c99_join(index, sizeof index, l->after.operand[1].index);
    adzi_c99_element(c, y->memory, index, l->y, sizeof l->y);
}

static void close_lookup(adzi_c99 *c, lookup *l)
{
    adzi_c99_nest_close(c, &l->after);
    adzi_c99_nest_close(c, &l->ids);
    adzi_c99_nest_close(c, &l->before);
}

/* embedding(ids, weight). */
void adzi_c99_embedding(adzi_c99 *c, const adzi_c99_call *call)
{
    lookup l;
    open_lookup(
        c, &l, adzi_c99_in(c, call, 1), adzi_c99_in(c, call, 0), adzi_c99_out(c, call, 0), 0);
    adzi_c99_line(c, "%s = %s;", l.y, l.table);
    close_lookup(c, &l);
}

/* index_select(x, index), and the library's own "rows". */
void adzi_c99_index_select(adzi_c99 *c, const adzi_c99_call *call)
{
    lookup l;
    open_lookup(c, &l, adzi_c99_in(c, call, 0), adzi_c99_in(c, call, 1), adzi_c99_out(c, call, 0),
        (int)adzi_c99_attr(call, "dim", 0));
    adzi_c99_line(c, "%s = %s;", l.y, l.table);
    close_lookup(c, &l);
}

/* The sums of the rows of y that belong to each row of x. Rows at the index -1 belong to none. */
void adzi_c99_rows_sum(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_out(c, call, 0);
    lookup l;
    adzi_c99_map(c, x, "= 0", NULL);
    open_lookup(c, &l, x, adzi_c99_in(c, call, 1), adzi_c99_in(c, call, 0),
        (int)adzi_c99_attr(call, "dim", 0));
    adzi_c99_line(c, "if (%s >= 0) {", l.id);
    ++c->depth;
    adzi_c99_line(c, "%s += %s;", l.table, l.y);
    --c->depth;
    adzi_c99_line(c, "}");
    close_lookup(c, &l);
}

/* gather(x, index): y[i, j] = x[index[i, j], j] for dim 0, or x[index[i, j], j] += y[i, j]. Loops
 * run over the index, and y may be larger than it. */
static void gather(adzi_c99 *c, const adzi_c99_value *x, int dim, const adzi_c99_value *index,
    const adzi_c99_value *y, bool add_to_x)
{
    adzi_c99_value lane = *x, part = *y;
    for (int d = 0; d < x->rank; ++d) {
        lane.sizes[d] = part.sizes[d] = index->sizes[d];
    }
    const int64_t stride = x->rank > 0 ? x->strides[dim] : 1;
    if (x->rank > 0) {
        lane.strides[dim] = 0;
    }
    adzi_c99_nest nest = adzi_c99_nest_of(index->rank, index->sizes);
    const int at = adzi_c99_nest_add(&nest, index), to = adzi_c99_nest_add(&nest, &part);
    const int from = adzi_c99_nest_add(&nest, &lane);
    nest.operand[from].memory = -1;
    adzi_c99_nest_open(c, &nest);
    char position[2 * TEXT] = "", step[TEXT + 24], element[2 * TEXT + ADZI_C99_NAME];
    adzi_c99_join(position, sizeof position, nest.operand[from].index);
    snprintf(step, sizeof step, "%s * %lld", nest.operand[at].text, (long long)stride);
    adzi_c99_join(position, sizeof position, step);
    adzi_c99_element(c, x->memory, position, element, sizeof element);
    const char *from_y = nest.operand[to].text;
    if (add_to_x && adzi_c99_arena(x->dtype) == ADZI_C99_INTEGERS) { /* wraps */
        adzi_c99_line(c, "%s = (int32_t)((uint32_t)%s + (uint32_t)%s);", element, element, from_y);
    } else if (add_to_x && x->dtype == ADZ_BOOL) {
        adzi_c99_line(c, "%s = %s || %s;", element, element, from_y);
    } else if (add_to_x) {
        adzi_c99_line(c, "%s += %s;", element, from_y);
    } else {
        adzi_c99_line(c, "%s = %s;", from_y, element);
    }
    adzi_c99_nest_close(c, &nest);
}

static int dim_of(const adzi_c99_call *call)
{
    return (int)adzi_c99_attr(call, "dim", 0);
}

void adzi_c99_gather(adzi_c99 *c, const adzi_c99_call *call)
{
    gather(c, adzi_c99_in(c, call, 0), dim_of(call), adzi_c99_in(c, call, 1),
        adzi_c99_out(c, call, 0), false);
}

/* scatter_add(x, index, src): y = x, then y[index[i, j], j] += src[i, j] for dim 0. */
void adzi_c99_scatter_add(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    if (!call->inplace) {
        adzi_c99_map(c, y, "= $a", adzi_c99_in(c, call, 0));
    }
    gather(c, y, dim_of(call), adzi_c99_in(c, call, 1), adzi_c99_in(c, call, 2), true);
}

/* one_hot(ids): y[..., k] = ids[...] == k. */
void adzi_c99_one_hot(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *ids = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_value first = adzi_c99_without(y, y->rank - 1);
    adzi_c99_nest nest = adzi_c99_nest_of(ids->rank, ids->sizes);
    adzi_c99_nest_add(&nest, ids);
    adzi_c99_nest_add(&nest, &first);
    nest.operand[1].memory = -1;
    adzi_c99_nest_open(c, &nest);
    char k[4], index[ADZI_C99_INDEX], element[TEXT];
    adzi_c99_loop(c, y->sizes[y->rank - 1], k);
    memcpy(index, nest.operand[1].index, sizeof index);
    adzi_c99_index(index, sizeof index, k, y->strides[y->rank - 1]);
    adzi_c99_element(c, y->memory, index, element, sizeof element);
    adzi_c99_line(c, "%s = %s == %s;", element, nest.operand[0].text, k);
    adzi_c99_end(c);
    adzi_c99_nest_close(c, &nest);
}
