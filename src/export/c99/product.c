/* Products of matrices, for the printers of operators. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

enum { A, B, Y, BIAS, OPERANDS };

/* The block of dot products that @dots computes; from how many products on it is used; and how many
 * terms are added to a row at once. */
enum { BLOCK_ROWS = 2, BLOCK_COLUMNS = 4, LARGE = 1 << 18, TERMS = 4 };

/* The loop over the batch is open; these are the parts of the products inside it. */
typedef struct {
    adzi_c99 *c;
    adzi_c99_nest nest;
    const adzi_c99_value *operand[OPERANDS]; /* that of BIAS may be NULL */
    int64_t m, k, n;
    bool accumulate;
} product;

enum { TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

static int64_t stride_of(const adzi_c99_value *v, int from_last)
{
    const int d = v->rank - from_last;
    return d < 0 || v->sizes[d] == 1 ? 0 : v->strides[d];
}

/* The element of an operand at row and column variables ("" for none). */
static void element(
    const product *p, int which, const char *row, const char *column, char text[TEXT])
{
    const adzi_c99_value *v = p->operand[which];
    char index[ADZI_C99_INDEX];
    snprintf(index, sizeof index, "%s", p->nest.operand[which].index);
    if (row[0] != '\0') {
        adzi_c99_index(index, sizeof index, row, stride_of(v, 2));
    }
    if (column[0] != '\0') {
        adzi_c99_index(index, sizeof index, column, stride_of(v, 1));
    }
    adzi_c99_element(p->c, v->memory, index, text, TEXT);
}

/* The address of an operand's row, or of its column if `from_last` is 1, which a variable names (""
 * for none). */
static void address(
    const product *p, int which, const char *variable, int from_last, char text[TEXT])
{
    const adzi_c99_value *v = p->operand[which];
    char index[ADZI_C99_INDEX];
    snprintf(index, sizeof index, "%s", p->nest.operand[which].index);
    if (variable[0] != '\0') {
        adzi_c99_index(index, sizeof index, variable, stride_of(v, from_last));
    }
    adzi_c99_address(p->c, v->memory, index, text, TEXT);
}

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
        adzi_c99_open(c, "{");
    }
    return bare;
}

static void close_block(adzi_c99 *c, bool open)
{
    if (open) {
        adzi_c99_close(c);
    }
}

static void bias_text(const product *p, const char *row, const char *column, char text[TEXT])
{
    text[0] = '\0';
    if (p->operand[BIAS] != NULL) {
        element(p, BIAS, row, column, text);
    }
}

/* A part of the result: rows and columns from the first to below the last. */
typedef struct {
    int64_t row, rows, column, columns;
} part;

/* Opens a loop from `from` to below `below`; for one pass there is none, and the variable is the
 * number. */
static bool open_range(adzi_c99 *c, int64_t from, int64_t below, int64_t step, char variable[24])
{
    char start[24], end[24], letter[4];
    snprintf(start, sizeof start, "%lld", (long long)from);
    snprintf(end, sizeof end, "%lld", (long long)below);
    snprintf(variable, 24, "%s", from != 0 ? start : "");
    if (below - from > step) {
        adzi_c99_range(c, start, end, step, letter);
        snprintf(variable, 24, "%s", letter);
    }
    return below - from > step;
}

/* y[i, j] = dot(row of a, column of b): both lie contiguous. */
static void print_dots(const product *p, part t)
{
    adzi_c99 *c = p->c;
    char i[24], j[24], y[TEXT], a[TEXT], b[TEXT], bias[TEXT];
    if (t.row >= t.rows || t.column >= t.columns) {
        return;
    }
    const bool rows = open_range(c, t.row, t.rows, 1, i);
    const bool columns = open_range(c, t.column, t.columns, 1, j);
    element(p, Y, i, j, y);
    address(p, A, i, 2, a);
    address(p, B, j, 1, b);
    bias_text(p, i, j, bias);
    adzi_c99_line(c, "%s %s %s%s@dot(%s, %s, %lld);", y, p->accumulate ? "+=" : "=", bias,
        bias[0] != '\0' ? " + " : "", a, b, (long long)p->k);
    close_loop(c, columns);
    close_loop(c, rows);
}

/* Eight dot products at once: those of BLOCK_ROWS rows and BLOCK_COLUMNS columns. */
static void print_blocks(const product *p, part t)
{
    adzi_c99 *c = p->c;
    char i[24], j[24], k[4], l[4], row[40], column[40], y[TEXT], a[TEXT], b[TEXT], bias[TEXT];
    const bool wide = p->n > p->m; /* the larger operand is read once */
    const bool outer = wide ? open_range(c, 0, t.columns, BLOCK_COLUMNS, j)
                            : open_range(c, 0, t.rows, BLOCK_ROWS, i);
    const bool inner = wide ? open_range(c, 0, t.rows, BLOCK_ROWS, i)
                            : open_range(c, 0, t.columns, BLOCK_COLUMNS, j);
    const bool block = !outer && !inner;
    if (block) {
        adzi_c99_open(c, "{");
    }
    address(p, A, i, 2, a);
    address(p, B, j, 1, b);
    adzi_c99_line(c, "float sums[%d];", BLOCK_ROWS * BLOCK_COLUMNS);
    adzi_c99_line(c, "@dots(%s, %lld, %s, %lld, %lld, sums);", a,
        (long long)stride_of(p->operand[A], 2), b, (long long)stride_of(p->operand[B], 1),
        (long long)p->k);
    adzi_c99_loop(c, BLOCK_ROWS, k);
    adzi_c99_loop(c, BLOCK_COLUMNS, l);
    snprintf(row, sizeof row, i[0] != '\0' ? "(%s + %s)" : "%s%s", i, k);
    snprintf(column, sizeof column, j[0] != '\0' ? "(%s + %s)" : "%s%s", j, l);
    element(p, Y, row, column, y);
    bias_text(p, row, column, bias);
    adzi_c99_line(c, "%s %s %s%ssums[%s * %d + %s];", y, p->accumulate ? "+=" : "=", bias,
        bias[0] != '\0' ? " + " : "", k, BLOCK_COLUMNS, l);
    adzi_c99_end(c);
    adzi_c99_end(c);
    close_block(c, block);
    close_loop(c, inner);
    close_loop(c, outer);
}

/* Large products in blocks, and what is left of them. A block needs more registers than a
 * microcontroller has, so small products have none. */
static void print_all_dots(const product *p)
{
    const int64_t rows = p->m / BLOCK_ROWS * BLOCK_ROWS;
    const int64_t columns = p->n / BLOCK_COLUMNS * BLOCK_COLUMNS;
    if (rows == 0 || columns == 0 || (double)p->m * (double)p->n * (double)p->k < LARGE) {
        print_dots(p, (part){ 0, p->m, 0, p->n });
        return;
    }
    print_blocks(p, (part){ 0, rows, 0, columns });
    print_dots(p, (part){ 0, rows, columns, p->n });
    print_dots(p, (part){ rows, p->m, 0, p->n });
}

/* The number of term `t` behind variable k, or behind a number if k is "". "" stands for 0. */
static void name_term(char term[40], const char *k, int64_t from, int t)
{
    term[0] = '\0';
    if (k[0] != '\0') {
        snprintf(term, 40, t > 0 ? "(%s + %d)" : "%s", k, t);
    } else if (from + t > 0) {
        snprintf(term, 40, "%lld", (long long)(from + t));
    }
}

/* What the sum for an element of y begins with. */
static void begin_sum(const product *p, const char *row, const char *column, adzi_text *sum)
{
    char y[TEXT], bias[TEXT];
    element(p, Y, row, column, y);
    bias_text(p, row, column, bias);
    const char *both = p->accumulate && bias[0] != '\0' ? " + " : "";
    const char *none = p->accumulate || bias[0] != '\0' ? "" : "0";
    adzi_text_format(sum, "%s%s%s%s", p->accumulate ? y : "", both, bias, none);
}

/* Adds terms to row i of y, `count` at once in their order: each is a factor of a times a row of b.
 * With `alone` they are all terms. */
static void print_terms(
    const product *p, const char *i, int64_t from, int64_t below, int count, bool alone)
{
    adzi_c99 *c = p->c;
    char k[24], j[4], term[40], y[TEXT], a[TEXT], b[TEXT];
    adzi_text sum = { 0 };
    const bool loop = open_range(c, from, below, count, k);
    if (!loop) {
        adzi_c99_open(c, "{");
    }
    for (int t = 0; t < count; ++t) {
        name_term(term, loop ? k : "", from, t);
        element(p, A, i, term, a);
        adzi_c99_line(c, "const float factor%d = %s;", t, a);
    }
    const bool columns = adzi_c99_loop_over(c, p->n, j);
    element(p, Y, i, j, y);
    if (alone) {
        begin_sum(p, i, j, &sum);
    } else {
        adzi_text_add(&sum, y);
    }
    for (int t = 0; t < count; ++t) {
        name_term(term, loop ? k : "", from, t);
        element(p, B, term, j, b);
        adzi_text_format(&sum, " + factor%d * %s", t, b);
    }
    adzi_c99_line(c, "%s = %s;", y, adzi_text_get(&sum));
    if (sum.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
    adzi_text_free(&sum);
    close_loop(c, columns);
    close_loop(c, loop);
    close_block(c, !loop);
}

/* Row i of y is the sum of the rows of b, times the elements of row i of a. */
static void print_rows(const product *p)
{
    adzi_c99 *c = p->c;
    char i[4], j[4], y[TEXT], bias[TEXT];
    const int64_t many = p->k / TERMS * TERMS;
    const bool rows = adzi_c99_loop_over(c, p->m, i);
    const bool alone = p->k > 0 && p->k <= TERMS;
    if (alone) {
        print_terms(p, i, 0, p->k, (int)p->k, true);
        close_loop(c, rows);
        return;
    }
    if (!p->accumulate || p->operand[BIAS] != NULL) {
        const bool first = adzi_c99_loop_over(c, p->n, j);
        element(p, Y, i, j, y);
        bias_text(p, i, j, bias);
        adzi_c99_line(c, "%s %s %s;", y, p->accumulate ? "+=" : "=", bias[0] != '\0' ? bias : "0");
        close_loop(c, first);
    }
    if (many > 0) {
        print_terms(p, i, 0, many, TERMS, false);
    }
    if (many < p->k) {
        print_terms(p, i, many, p->k, 1, false);
    }
    close_loop(c, rows);
}

/* Any layout and dtype. Integers are summed as unsigned ones, which wrap. */
static void print_sums(const product *p)
{
    adzi_c99 *c = p->c;
    char i[4], k[4], j[4], y[TEXT], a[TEXT], b[TEXT], bias[TEXT];
    const bool rows = adzi_c99_loop_over(c, p->m, i), columns = adzi_c99_loop_over(c, p->n, j);
    const bool block = open_block(c), whole = !adzi_is_float(p->operand[Y]->dtype);
    const char *cast = whole ? "(uint32_t)" : "",
               *back = whole ? adzi_c99_type(p->operand[Y]->dtype) : "";
    bias_text(p, i, j, bias);
    const int number = c->variables;
    adzi_c99_line(c, "%s sum%d = %s%s;", whole ? "uint32_t" : "float", number,
        bias[0] != '\0' ? cast : "", bias[0] != '\0' ? bias : "0");
    const bool terms = adzi_c99_loop_over(c, p->k, k);
    element(p, A, i, k, a);
    element(p, B, k, j, b);
    adzi_c99_line(c, "sum%d += %s%s * %s%s;", number, cast, a, cast, b);
    close_loop(c, terms);
    element(p, Y, i, j, y);
    adzi_c99_line(c, "%s %s %s%s%ssum%d;", y, p->accumulate ? "+=" : "=", whole ? "(" : "", back,
        whole ? ")" : "", number);
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

void adzi_c99_product(adzi_c99 *c, const adzi_c99_operands *operands)
{
    const adzi_c99_value *a = operands->a, *b = operands->b, *y = operands->y;
    /* The batch has the dimensions of the operand that has most: those of a broadcast operand are
     * summed over when it is the one that is added to. */
    const adzi_c99_value *most = y->rank >= a->rank && y->rank >= b->rank ? y
                                 : a->rank >= b->rank                     ? a
                                                                          : b;
    product p = {
        .c = c, .operand = { a, b, y, operands->bias }, .accumulate = operands->accumulate
    };
    int64_t sizes[ADZ_MAX_RANK];
    const int rank = most->rank - 2;
    for (int d = 0; d < rank; ++d) {
        sizes[d] = most->sizes[d];
        const adzi_c99_value *const all[] = { a, b, y };
        for (int v = 0; v < 3; ++v) {
            const int at = d - (most->rank - all[v]->rank);
            sizes[d] = at >= 0 && all[v]->sizes[at] > sizes[d] ? all[v]->sizes[at] : sizes[d];
        }
    }
    p.m = a->sizes[a->rank - 2];
    p.k = a->sizes[a->rank - 1];
    p.n = b->sizes[b->rank - 1];
    p.nest = adzi_c99_nest_of(rank, sizes);
    const adzi_c99_value batches[] = { batch_of(a), batch_of(b), batch_of(y) };
    for (int v = 0; v < 3; ++v) {
        adzi_c99_nest_add(&p.nest, &batches[v]);
        p.nest.operand[v].memory = -1 - p.nest.operand[v].memory; /* no element of its own */
    }
    if (operands->bias != NULL) {
        const adzi_c99_value b4 = batch_of(operands->bias);
        adzi_c99_nest_add(&p.nest, &b4);
        p.nest.operand[BIAS].memory = -1;
    }
    adzi_c99_nest_open(c, &p.nest);
    const bool a_lies = stride_of(a, 1) == 1 || p.k == 1, b_lies = stride_of(b, 2) == 1 || p.k == 1;
    if (!adzi_is_float(y->dtype)) {
        print_sums(&p);
    } else if (a_lies && b_lies && p.k > 1) {
        print_all_dots(&p);
    } else if ((stride_of(y, 1) == 1 || p.n == 1) && (stride_of(b, 1) == 1 || p.n == 1)) {
        print_rows(&p);
    } else {
        print_sums(&p);
    }
    adzi_c99_nest_close(c, &p.nest);
}
