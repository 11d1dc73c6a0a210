/* Matrix products: linear and matmul. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

enum { A, B, Y, BIAS };

/* The loop over the batch is open; these are the parts of the products inside it. */
typedef struct {
    adzi_c99_nest nest;
    const adzi_c99_value *a, *b, *y, *bias;
    int64_t m, k, n;
} product;

static int64_t stride_of(const adzi_c99_value *v, int from_last)
{
    const int d = v->rank - from_last;
    return d < 0 || v->sizes[d] == 1 ? 0 : v->strides[d];
}

/* The element of an operand at row and column variables ("" for none). */
static void element(adzi_c99 *c, const product *p, int which, const adzi_c99_value *v,
    const char *row, const char *column, char *text, size_t size)
{
    char index[ADZI_C99_INDEX];
    snprintf(index, sizeof index, "%s", p->nest.operand[which].index);
    if (row[0] != '\0') {
        adzi_c99_index(index, sizeof index, row, stride_of(v, 2));
    }
    if (column[0] != '\0') {
        adzi_c99_index(index, sizeof index, column, stride_of(v, 1));
    }
    adzi_c99_element(c, v->memory, index, text, size);
}

static void address(adzi_c99 *c, const product *p, int which, const adzi_c99_value *v,
    const char *variable, int from_last, char *text, size_t size)
{
    char index[ADZI_C99_INDEX];
    snprintf(index, sizeof index, "%s", p->nest.operand[which].index);
    adzi_c99_index(index, sizeof index, variable, stride_of(v, from_last));
    adzi_c99_address(c, v->memory, index, text, size);
}

enum { TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

static void close_loop(adzi_c99 *c, bool open)
{
    if (open) {
        adzi_c99_end(c);
    }
}

/* Opens a block for a variable if no loop is open: another product of the function may declare a
 * variable of that name. Returns true if it is open. */
static bool open_block(adzi_c99 *c)
{
    const bool bare = c->variables == 0;
    if (bare) {
        adzi_c99_line(c, "{");
        ++c->depth;
    }
    return bare;
}

static void close_block(adzi_c99 *c, bool open)
{
    if (open) {
        --c->depth;
        adzi_c99_line(c, "}");
    }
}

static void bias_text(
    adzi_c99 *c, const product *p, const char *row, const char *column, char *text, size_t size)
{
    text[0] = '\0';
    if (p->bias != NULL) {
        element(c, p, BIAS, p->bias, row, column, text, size);
    }
}

/* y[i, j] = dot(row of a, column of b): both lie contiguous. */
static void print_dots(adzi_c99 *c, const product *p)
{
    char i[4], j[4], y[TEXT], a[TEXT], b[TEXT], bias[TEXT];
    const bool rows = adzi_c99_loop_over(c, p->m, i), columns = adzi_c99_loop_over(c, p->n, j);
    element(c, p, Y, p->y, i, j, y, sizeof y);
    address(c, p, A, p->a, i, 2, a, sizeof a);
    address(c, p, B, p->b, j, 1, b, sizeof b);
    bias_text(c, p, i, j, bias, sizeof bias);
    adzi_c99_line(c, "%s = %s%s@dot(%s, %s, %lld);", y, bias, bias[0] != '\0' ? " + " : "", a, b,
        (long long)p->k);
    close_loop(c, columns);
    close_loop(c, rows);
}

/* Row i of y is the sum of the rows of b, times the elements of row i of a. */
static void print_rows(adzi_c99 *c, const product *p)
{
    char i[4], k[4], j[4], y[TEXT], a[TEXT], b[TEXT], bias[TEXT];
    const bool rows = adzi_c99_loop_over(c, p->m, i);
    const bool first = adzi_c99_loop_over(c, p->n, j);
    element(c, p, Y, p->y, i, j, y, sizeof y);
    bias_text(c, p, i, j, bias, sizeof bias);
    adzi_c99_line(c, "%s = %s;", y, bias[0] != '\0' ? bias : "0");
    close_loop(c, first);
    const bool terms = adzi_c99_loop_over(c, p->k, k);
    const bool block = open_block(c);
    element(c, p, A, p->a, i, k, a, sizeof a);
    adzi_c99_line(c, "const float factor%d = %s;", c->variables, a);
    const int number = c->variables;
    const bool columns = adzi_c99_loop_over(c, p->n, j);
    element(c, p, Y, p->y, i, j, y, sizeof y);
    element(c, p, B, p->b, k, j, b, sizeof b);
    adzi_c99_line(c, "%s += factor%d * %s;", y, number, b);
    close_loop(c, columns);
    close_block(c, block);
    close_loop(c, terms);
    close_loop(c, rows);
}

/* Any layout and dtype. Integers are summed as unsigned ones, which wrap. */
static void print_sums(adzi_c99 *c, const product *p)
{
    char i[4], k[4], j[4], y[TEXT], a[TEXT], b[TEXT], bias[TEXT];
    const bool rows = adzi_c99_loop_over(c, p->m, i), columns = adzi_c99_loop_over(c, p->n, j);
    const bool block = open_block(c), whole = !adzi_is_float(p->y->dtype);
    const char *cast = whole ? "(uint32_t)" : "", *back = whole ? adzi_c99_type(p->y->dtype) : "";
    bias_text(c, p, i, j, bias, sizeof bias);
    const int number = c->variables;
    adzi_c99_line(c, "%s sum%d = %s%s;", whole ? "uint32_t" : "float", number,
        bias[0] != '\0' ? cast : "", bias[0] != '\0' ? bias : "0");
    const bool terms = adzi_c99_loop_over(c, p->k, k);
    element(c, p, A, p->a, i, k, a, sizeof a);
    element(c, p, B, p->b, k, j, b, sizeof b);
    adzi_c99_line(c, "sum%d += %s%s * %s%s;", number, cast, a, cast, b);
    close_loop(c, terms);
    element(c, p, Y, p->y, i, j, y, sizeof y);
    adzi_c99_line(c, "%s = %s%s%ssum%d;", y, whole ? "(" : "", back, whole ? ")" : "", number);
    close_block(c, block);
    close_loop(c, columns);
    close_loop(c, rows);
}

/* The value without its last two dimensions. */
static adzi_c99_value batch_of(const adzi_c99_value *v)
{
    adzi_c99_value batch = *v;
    batch.rank = v->rank > 2 ? v->rank - 2 : 0;
    return batch;
}

void adzi_c99_product(adzi_c99 *c, const adzi_c99_value *a, const adzi_c99_value *b,
    const adzi_c99_value *bias, const adzi_c99_value *y)
{
    product p = { .a = a, .b = b, .y = y, .bias = bias };
    p.m = a->sizes[a->rank - 2];
    p.k = a->sizes[a->rank - 1];
    p.n = b->sizes[b->rank - 1];
    p.nest = adzi_c99_nest_of(y->rank - 2, y->sizes);
    const adzi_c99_value batches[] = { batch_of(a), batch_of(b), batch_of(y) };
    for (int v = 0; v < 3; ++v) {
        adzi_c99_nest_add(&p.nest, &batches[v]);
        p.nest.operand[v].memory = -1 - p.nest.operand[v].memory; /* no element of its own */
    }
    if (bias != NULL) {
        const adzi_c99_value b4 = batch_of(bias);
        adzi_c99_nest_add(&p.nest, &b4);
        p.nest.operand[BIAS].memory = -1;
    }
    adzi_c99_nest_open(c, &p.nest);
    const bool a_lies = stride_of(a, 1) == 1 || p.k == 1, b_lies = stride_of(b, 2) == 1 || p.k == 1;
    if (!adzi_is_float(y->dtype)) {
        print_sums(c, &p);
    } else if (a_lies && b_lies && p.k > 1) {
        print_dots(c, &p);
    } else if ((stride_of(y, 1) == 1 || p.n == 1) && (stride_of(b, 1) == 1 || p.n == 1)) {
        print_rows(c, &p);
    } else {
        print_sums(c, &p);
    }
    adzi_c99_nest_close(c, &p.nest);
}

/* ---- linear -----------------------------------------------------------------------------------
 */

/* x and y as [N, D] and [N, H] if that is possible, so that there is one product and no batch. */
static void as_rows(adzi_c99_value *x, adzi_c99_value *y)
{
    adzi_c99_value rows_x, rows_y;
    if (adzi_c99_rows(x, &rows_x) && adzi_c99_rows(y, &rows_y)) {
        *x = rows_x;
        *y = rows_y;
    }
}

/* A vector [D] as [1, D]. */
static adzi_c99_value at_least_matrix(const adzi_c99_value *v)
{
    adzi_c99_value matrix = *v;
    if (v->rank == 1) {
        matrix.rank = 2;
        matrix.sizes[1] = v->sizes[0];
        matrix.strides[1] = v->strides[0];
        matrix.sizes[0] = 1;
        matrix.strides[0] = 0;
    }
    return matrix;
}

void adzi_c99_linear(adzi_c99 *c, const adzi_c99_call *call)
{
    adzi_c99_value x = at_least_matrix(adzi_c99_in(c, call, 0));
    adzi_c99_value y = at_least_matrix(adzi_c99_out(c, call, 0));
    const adzi_c99_value w = adzi_c99_transposed(adzi_c99_in(c, call, 1), 0, 1);
    as_rows(&x, &y);
    adzi_c99_product(c, &x, &w, adzi_c99_in(c, call, 2), &y);
}

/* ---- linear and relu in one call --------------------------------------------------------------
 */

static bool drops_nothing(adzi_c99 *c, const adzi_c99_call *call)
{
    const double p = adzi_c99_attr(call, "p", 0);
    if (p != 0) {
        adzi_c99_refuse_dropout(c, p);
    }
    return p == 0;
}

void adzi_c99_linear_relu(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    if (drops_nothing(c, call)) {
        adzi_c99_linear(c, call);
        adzi_c99_map(c, y, "= $a < 0 ? 0 : $a", y);
    }
}

/* ---- matmul -----------------------------------------------------------------------------------
 */

/* The operand as it is multiplied: transposed if the attribute says so. */
static adzi_c99_value operand(const adzi_c99_call *call, const char *flag, const adzi_c99_value *v)
{
    adzi_c99_value matrix = at_least_matrix(v);
    return adzi_c99_attr(call, flag, 0) != 0
               ? adzi_c99_transposed(&matrix, matrix.rank - 2, matrix.rank - 1)
               : matrix;
}

/* A vector on the right is a column. */
static adzi_c99_value right(const adzi_c99_call *call, const adzi_c99_value *v)
{
    const adzi_c99_value matrix = operand(call, "transpose_b", v);
    return v->rank == 1 ? adzi_c99_transposed(&matrix, 0, 1) : matrix;
}

/* y as [..., m, n], with the dimensions that a vector on either side has removed. */
static adzi_c99_value product_of(
    const adzi_c99_value *y, const adzi_c99_value *a, const adzi_c99_value *b)
{
    adzi_c99_value full = *y;
    if (b->rank == 1) {
        full.sizes[full.rank] = 1;
        full.strides[full.rank++] = 0;
    }
    if (a->rank == 1) {
        full.sizes[full.rank] = full.rank > 0 ? full.sizes[full.rank - 1] : 1;
        full.strides[full.rank] = full.rank > 0 ? full.strides[full.rank - 1] : 0;
        full.sizes[full.rank - 1] = 1;
        full.strides[full.rank - 1] = 0;
        ++full.rank;
    }
    return full;
}

void adzi_c99_matmul(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *a = adzi_c99_in(c, call, 0), *b = adzi_c99_in(c, call, 1);
    const adzi_c99_value left = operand(call, "transpose_a", a), r = right(call, b);
    const adzi_c99_value y = product_of(adzi_c99_out(c, call, 0), a, b);
    adzi_c99_product(c, &left, &r, NULL, &y);
}
