/* Recurrent layers in C: a loop over the steps, with two products of matrices and a loop over the
 * elements of the states in it. */
#include <stdio.h>

#include "export/c99/printer.h"
#include "ops/recurrent/recurrent_run.h"

enum { MOST_SAVED = 4 };

typedef struct {
    const adzi_recurrent_cell *cell;
    const adzi_c99_value *in[ADZI_CALL_INPUTS]; /* of the node */
    const adzi_c99_value *const *weights;       /* WEIGHT_IH, ... among them */
    const adzi_c99_value *y, *states[2];        /* h, and c of an LSTM: results that steps change */
    adzi_c99_value x;                           /* [B, I]: x of the step */
    adzi_c99_value gates;                       /* [B, S H] */
    int64_t hidden;
    const char *t; /* the step's position in time */
} layer;

/* ---- positions ------------------------------------------------------------------------------ */

/* The index of a position: a variable for each dimension of the value, "" for the first element
 * along it. It begins with the value's offset, because weights and states may be views. */
static void write_index(const adzi_c99_value *v, const char *const *at, char index[ADZI_C99_INDEX])
{
    index[0] = '\0';
    if (v->offset != 0) {
        snprintf(index, ADZI_C99_INDEX, "%lld", (long long)v->offset);
    }
    for (int d = 0; d < v->rank; ++d) {
        if (at[d][0] != '\0') {
            adzi_c99_index(index, ADZI_C99_INDEX, at[d], v->strides[d]);
        }
    }
}

static void element(
    adzi_c99 *c, const adzi_c99_value *v, const char *const *at, char text[ADZI_C99_TEXT])
{
    char index[ADZI_C99_INDEX];
    write_index(v, at, index);
    adzi_c99_element(c, v->memory, index, text, ADZI_C99_TEXT);
}

/* `n` of the positions along a dimension, from `first` on. */
static adzi_c99_value part(const adzi_c99_value *v, int dim, int64_t first, int64_t n)
{
    adzi_c99_value some = *v;
    some.offset += first * v->strides[dim];
    some.numel = v->sizes[dim] > 0 ? v->numel / v->sizes[dim] * n : 0;
    some.sizes[dim] = n;
    return some;
}

/* ---- gates ---------------------------------------------------------------------------------- */

/* x = x_t, as a matrix of its own: the product reads the same buffer in every step. */
static void print_x(adzi_c99 *c, const layer *l)
{
    char b[4], k[4], from[ADZI_C99_TEXT], to[ADZI_C99_TEXT];
    adzi_c99_loop(c, l->x.sizes[0], b);
    adzi_c99_loop(c, l->x.sizes[1], k);
    element(c, l->in[X], (const char *[]){ l->t, b, k }, from);
    element(c, &l->x, (const char *[]){ b, k }, to);
    adzi_c99_line(c, "%s = %s;", to, from);
    adzi_c99_end(c);
    adzi_c99_end(c);
}

/* The product of `from` with n gates of a weight, and their bias, goes to the blocks of `gates`
 * from `to` on, or is added to them. */
typedef struct {
    const adzi_c99_value *from;
    int weight, bias;
    int64_t gate, n, to;
    bool added;
} gates_product;

static void print_product(adzi_c99 *c, const layer *l, gates_product p)
{
    const int64_t h = l->hidden;
    const adzi_c99_value y = part(&l->gates, 1, p.to * h, p.n * h);
    const adzi_c99_value rows = part(l->weights[p.weight], 0, p.gate * h, p.n * h);
    const adzi_c99_value b = adzi_c99_transposed(&rows, 0, 1);
    adzi_c99_operands operands = { .a = p.from, .b = &b, .y = &y, .accumulate = p.added };
    adzi_c99_value bias;
    if (l->weights[p.bias] != NULL) {
        bias = part(l->weights[p.bias], 0, p.gate * h, p.n * h);
        operands.bias = &bias;
    }
    if (p.n > 0) {
        adzi_c99_product(c, &operands);
    }
}

/* gates = x_t w_ih^T + b_ih + h w_hh^T + b_hh. If a step saves one block more than there are gates,
 * the product of h with the last gate has a block of its own. */
static void print_gates(adzi_c99 *c, const layer *l)
{
    const int64_t gates = l->cell->gates, apart = l->cell->saved - gates;
    const adzi_c99_value *h = l->states[0];
    print_product(c, l, (gates_product){ &l->x, WEIGHT_IH, BIAS_IH, 0, gates, 0, false });
    print_product(c, l, (gates_product){ h, WEIGHT_HH, BIAS_HH, 0, gates - apart, 0, true });
    print_product(
        c, l, (gates_product){ h, WEIGHT_HH, BIAS_HH, gates - apart, apart, gates, false });
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Prints one line of a cell's text, in which `gate`, `h` and `cell` are elements. */
static void print_line(
    adzi_c99 *c, const char *line, char gate[][ADZI_C99_TEXT], const char *h, const char *cell)
{
    adzi_text text = { 0 };
    for (const char *at = line; *at != '\0'; ++at) {
        if (*at != '$') {
            adzi_text_format(&text, "%c", *at);
            continue;
        }
        ++at;
        adzi_text_add(&text, *at == 'h' ? h : *at == 'c' ? cell : gate[*at - '0']);
    }
    if (text.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    } else {
        adzi_c99_line(c, "%s", adzi_text_get(&text));
    }
    adzi_text_free(&text);
}

/* The new states, and y_t. Behind the end of a row's sequence y is 0, and the states stay. */
static void print_cell(adzi_c99 *c, const layer *l, const char *const *lines)
{
    char b[4], j[4], state[2][ADZI_C99_TEXT] = { "", "" }, y[ADZI_C99_TEXT], length[ADZI_C99_TEXT],
                     gate[MOST_SAVED][ADZI_C99_TEXT];
    adzi_c99_loop(c, l->y->sizes[1], b);
    adzi_c99_loop(c, l->hidden, j);
    element(c, l->y, (const char *[]){ l->t, b, j }, y);
    if (l->weights[LENGTHS] != NULL) {
        element(c, l->weights[LENGTHS], (const char *[]){ b }, length);
        adzi_c99_open(c, "if (%s >= %s) {", l->t, length);
        adzi_c99_line(c, "%s = 0;", y);
        adzi_c99_line(c, "continue;");
        adzi_c99_close(c);
    }
    for (int g = 0; g < l->cell->saved; ++g) {
        const adzi_c99_value block = part(&l->gates, 1, g * l->hidden, l->hidden);
        element(c, &block, (const char *[]){ b, j }, gate[g]);
    }
    for (int k = 0; k < l->cell->states; ++k) {
        element(c, l->states[k], (const char *[]){ b, j }, state[k]);
    }
    for (; *lines != NULL; ++lines) {
        print_line(c, *lines, gate, state[0], state[1]);
    }
    adzi_c99_line(c, "%s = %s;", y, state[0]);
    adzi_c99_end(c);
    adzi_c99_end(c);
}

ADZI_C99_PRINTER(recurrent)
{
    layer l = { .cell = adzi_recurrent_cell_of(call->op), .y = adzi_c99_out(c, call, 0) };
    const bool relu = adzi_c99_attr(call, "relu", 0) != 0;
    char step[4];
    for (int i = 0; i < INPUTS_OF(l.cell); ++i) {
        l.in[i] = adzi_c99_in(c, call, i);
    }
    l.weights = l.in + 1 + l.cell->states;
    l.hidden = l.y->sizes[2];
    const int64_t *sizes = l.in[X]->sizes; /* T, B, I */
    l.x = adzi_c99_scratch(c, ADZ_F32, 2, sizes + 1);
    l.gates = adzi_c99_scratch(c, ADZ_F32, 2, (int64_t[]){ sizes[1], l.cell->saved * l.hidden });
    for (int k = 0; k < l.cell->states; ++k) {
        l.states[k] = adzi_c99_out(c, call, 1 + k);
        adzi_c99_map(c, l.states[k], "= $a", l.in[H0 + k]);
    }
    adzi_c99_loop(c, sizes[0], step);
    l.t = step;
    if (adzi_c99_attr(call, "reverse", 0) != 0) {
        adzi_c99_line(c, "const int t = %lld - %s;", (long long)sizes[0] - 1, step);
        l.t = "t";
    }
    print_x(c, &l);
    print_gates(c, &l);
    print_cell(c, &l, l.cell->c_step[relu]);
    adzi_c99_end(c);
}
