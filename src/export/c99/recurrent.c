/* Attention and LSTM layers, printed as loops that need little scratch memory. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

enum { TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

/* The element (or, if `address`, its address) of a value at an index and up to two variables. */
static void element(adzi_c99 *c, const adzi_c99_value *v, const char *base, const char *row,
    const char *column, bool address, char text[TEXT])
{
    char index[ADZI_C99_INDEX];
    snprintf(index, sizeof index, "%s", base);
    if (row[0] != '\0') {
        adzi_c99_index(index, sizeof index, row, v->strides[v->rank - 2]);
    }
    if (column[0] != '\0') {
        adzi_c99_index(index, sizeof index, column, v->strides[v->rank - 1]);
    }
    if (address) {
        adzi_c99_address(c, v->memory, index, text, TEXT);
    } else {
        adzi_c99_element(c, v->memory, index, text, TEXT);
    }
}

/* ---- attention --------------------------------------------------------------------------------
 */

enum { Q, K, V, MASK, Y };

typedef struct {
    const adzi_c99_value *values[5];
    adzi_c99_value scores; /* of one query */
    adzi_c99_nest nest;    /* over the leading dimensions */
    bool causal;
    double scale;
} attention;

static const char *base_of(const attention *a, int which)
{
    return a->nest.operand[which].index;
}

/* scores[s] = scale q k^T + mask of query i, and the largest of them in `most`. */
static void print_scores(adzi_c99 *c, const attention *a, const char *i, const char *keys)
{
    const adzi_c99_value *q = a->values[Q], *k = a->values[K], *mask = a->values[MASK];
    char s[4], d[4], score[TEXT], x[TEXT], w[TEXT];
    adzi_c99_line(c, "float most = (-1.0f / 0.0f), total = 0;");
    snprintf(s, sizeof s, "s");
    adzi_c99_line(c, "for (int s = 0; s < %s; ++s) {", keys);
    ++c->depth;
    element(c, &a->scores, "", "", s, false, score);
    if (q->strides[q->rank - 1] == 1 && k->strides[k->rank - 1] == 1) {
        element(c, q, base_of(a, Q), i, "", true, x);
        element(c, k, base_of(a, K), s, "", true, w);
        adzi_c99_line(c, "float score = @dot(%s, %s, %lld) * %s;", x, w,
            (long long)q->sizes[q->rank - 1], adzi_c99_real(c, a->scale));
    } else {
        adzi_c99_line(c, "float score = 0;");
        adzi_c99_loop(c, q->sizes[q->rank - 1], d);
        element(c, q, base_of(a, Q), i, d, false, x);
        element(c, k, base_of(a, K), s, d, false, w);
        adzi_c99_line(c, "score += %s * %s;", x, w);
        adzi_c99_end(c);
        adzi_c99_line(c, "score *= %s;", adzi_c99_real(c, a->scale));
    }
    if (mask != NULL) {
        adzi_c99_value full = *mask;
        for (int k2 = 1; k2 <= 2; ++k2) { /* a dimension of size 1 is read again and again */
            full.strides[full.rank - k2] =
                full.sizes[full.rank - k2] == 1 ? 0 : full.strides[full.rank - k2];
        }
        element(c, &full, base_of(a, MASK), i, s, false, x);
        if (adzi_is_float(mask->dtype)) {
            adzi_c99_line(c, "score += %s;", x);
        } else {
            adzi_c99_line(c, "score = %s ? score : (-1.0f / 0.0f);", x);
        }
    }
    adzi_c99_line(c, "most = score > most || score != score ? score : most;");
    adzi_c99_line(c, "%s = score;", score);
    --c->depth;
    adzi_c99_line(c, "}");
}

/* y[i] = the sum of the rows of v, weighted by e^(score - most) / total. A query that sees no key
 * gets zeros. */
static void print_weighted(adzi_c99 *c, const attention *a, const char *i, const char *keys)
{
    const adzi_c99_value *v = a->values[V], *y = a->values[Y];
    char d[4], score[TEXT], from[TEXT], to[TEXT];
    element(c, &a->scores, "", "", "s", false, score);
    adzi_c99_loop(c, y->sizes[y->rank - 1], d);
    element(c, y, base_of(a, Y), i, d, false, to);
    adzi_c99_line(c, "%s = 0;", to);
    adzi_c99_end(c);
    adzi_c99_line(c, "for (int s = 0; s < %s; ++s) {", keys);
    ++c->depth;
    adzi_c99_line(c, "%s = most == (-1.0f / 0.0f) ? 0 : @exp(%s - most);", score, score);
    adzi_c99_line(c, "total += %s;", score);
    --c->depth;
    adzi_c99_line(c, "}");
    adzi_c99_line(c, "for (int s = 0; s < %s; ++s) {", keys);
    ++c->depth;
    adzi_c99_line(c, "const float share = total == 0 ? 0 : %s / total;", score);
    adzi_c99_loop(c, y->sizes[y->rank - 1], d);
    element(c, v, base_of(a, V), "s", d, false, from);
    element(c, y, base_of(a, Y), i, d, false, to);
    adzi_c99_line(c, "%s += share * %s;", to, from);
    adzi_c99_end(c);
    --c->depth;
    adzi_c99_line(c, "}");
}

void adzi_c99_attention(adzi_c99 *c, const adzi_c99_call *call)
{
    attention a = { .causal = adzi_c99_attr(call, "is_causal", 0) != 0,
        .scale = adzi_c99_attr(call, "scale", 1) };
    if (adzi_c99_attr(call, "drops", 0) != 0) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "scaled_dot_product_attention with dropout draws random numbers; call adz_module_eval before the plan is made");
        return;
    }
    for (int i = Q; i <= MASK; ++i) {
        a.values[i] = adzi_c99_in(c, call, i);
    }
    a.values[Y] = adzi_c99_out(c, call, 0);
    const int64_t s = a.values[K]->sizes[a.values[K]->rank - 2];
    a.scores = adzi_c99_scratch(c, ADZ_F32, 1, &s);
    const adzi_c99_value *y = a.values[Y];
    a.nest = adzi_c99_nest_of(y->rank - 2, y->sizes);
    for (int i = Q; i <= Y; ++i) {
        adzi_c99_value batch = a.values[i] != NULL ? *a.values[i] : *y;
        batch.rank -= 2;
        adzi_c99_nest_add(&a.nest, &batch);
        a.nest.operand[i].memory = -1;
    }
    adzi_c99_nest_open(c, &a.nest);
    char i[4], keys[48];
    adzi_c99_loop(c, y->sizes[y->rank - 2], i);
    snprintf(keys, sizeof keys, "%lld", (long long)s);
    if (a.causal) { /* the last query sees all keys, and each query before it one key less */
        const long long first = (long long)(s - y->sizes[y->rank - 2] + 1); /* query 0 sees them */
        adzi_c99_line(c, "const int seen = %s %c %lld;", i, first < 0 ? '-' : '+',
            first < 0 ? -first : first);
        snprintf(keys, sizeof keys, "seen");
    }
    print_scores(c, &a, i, keys);
    print_weighted(c, &a, i, keys);
    adzi_c99_end(c);
    adzi_c99_nest_close(c, &a.nest);
}

/* ---- LSTM -------------------------------------------------------------------------------------
 */

enum { X, H0, C0, WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH, LENGTHS };

typedef struct {
    const adzi_c99_value *in[LENGTHS + 1], *y, *h, *cell;
    adzi_c99_value gates; /* [4H] of one row */
    int64_t hidden;
} lstm;

/* The element of a tensor of the layer, or its address. The index begins with the tensor's offset,
 * because weights and states may be views. */
static void part(adzi_c99 *c, const adzi_c99_value *v, const char *base, const char *row,
    const char *column, bool address, char text[TEXT])
{
    char index[ADZI_C99_INDEX] = "";
    if (v->offset != 0) {
        snprintf(index, sizeof index, "%lld", (long long)v->offset);
    }
    adzi_c99_join(index, sizeof index, base);
    element(c, v, index, row, column, address, text);
}

/* gates = x_t w_ih^T + b_ih + h w_hh^T + b_hh of row b. */
static void print_gates(adzi_c99 *c, const lstm *l, const char *t, const char *b)
{
    char j[4], k[4], gate[TEXT], bias[TEXT], x[TEXT], w[TEXT], index[ADZI_C99_INDEX] = "";
    adzi_c99_index(index, sizeof index, t, l->in[X]->strides[0]);
    adzi_c99_loop(c, 4 * l->hidden, j);
    part(c, &l->gates, "", "", j, false, gate);
    adzi_c99_line(c, "float gate = 0;");
    for (int i = BIAS_IH; i <= BIAS_HH; ++i) {
        if (l->in[i] != NULL) {
            part(c, l->in[i], "", "", j, false, bias);
            adzi_c99_line(c, "gate += %s;", bias);
        }
    }
    for (int side = 0; side < 2; ++side) {
        const adzi_c99_value *from = side == 0 ? l->in[X] : l->h;
        const adzi_c99_value *weight = l->in[side == 0 ? WEIGHT_IH : WEIGHT_HH];
        const char *base = side == 0 ? index : "";
        const int64_t n = weight->sizes[1];
        if (from->strides[from->rank - 1] == 1 && weight->strides[1] == 1) {
            part(c, from, base, b, "", true, x);
            part(c, weight, "", j, "", true, w);
            adzi_c99_line(c, "gate += @dot(%s, %s, %lld);", x, w, (long long)n);
        } else {
            adzi_c99_loop(c, n, k);
            part(c, from, base, b, k, false, x);
            part(c, weight, "", j, k, false, w);
            adzi_c99_line(c, "gate += %s * %s;", x, w);
            adzi_c99_end(c);
        }
    }
    adzi_c99_line(c, "%s = gate;", gate);
    adzi_c99_end(c);
}

/* c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c). */
static void print_cell(adzi_c99 *c, const lstm *l, const char *t, const char *b)
{
    char j[4], h[TEXT], cell[TEXT], y[TEXT], gate[4][TEXT], index[ADZI_C99_INDEX] = "";
    adzi_c99_index(index, sizeof index, t, l->y->strides[0]);
    adzi_c99_loop(c, l->hidden, j);
    for (int g = 0; g < 4; ++g) {
        char at[24] = "";
        if (g > 0) {
            snprintf(at, sizeof at, "%lld", (long long)(g * l->hidden));
        }
        part(c, &l->gates, at, "", j, false, gate[g]);
    }
    part(c, l->h, "", b, j, false, h);
    part(c, l->cell, "", b, j, false, cell);
    part(c, l->y, index, b, j, false, y);
    adzi_c99_line(c, "const float in = @sigmoid(%s), forget = @sigmoid(%s);", gate[0], gate[1]);
    adzi_c99_line(c, "const float fresh = @tanh(%s), out = @sigmoid(%s);", gate[2], gate[3]);
    adzi_c99_line(c, "%s = forget * %s + in * fresh;", cell, cell);
    adzi_c99_line(c, "%s = out * @tanh(%s);", h, cell);
    adzi_c99_line(c, "%s = %s;", y, h);
    adzi_c99_end(c);
}

/* y = 0 at steps behind the end of row b's sequence. The states stay as they are. */
static void print_padding(adzi_c99 *c, const lstm *l, const char *t, const char *b)
{
    char j[4], y[TEXT], length[TEXT], index[ADZI_C99_INDEX] = "";
    part(c, l->in[LENGTHS], "", "", b, false, length);
    adzi_c99_line(c, "if (%s >= %s) {", t, length);
    ++c->depth;
    adzi_c99_index(index, sizeof index, t, l->y->strides[0]);
    adzi_c99_loop(c, l->hidden, j);
    part(c, l->y, index, b, j, false, y);
    adzi_c99_line(c, "%s = 0;", y);
    adzi_c99_end(c);
    adzi_c99_line(c, "continue;");
    --c->depth;
    adzi_c99_line(c, "}");
}

void adzi_c99_lstm(adzi_c99 *c, const adzi_c99_call *call)
{
    lstm l = { .y = adzi_c99_out(c, call, 0),
        .h = adzi_c99_out(c, call, 1),
        .cell = adzi_c99_out(c, call, 2) };
    for (int i = 0; i <= LENGTHS; ++i) {
        l.in[i] = adzi_c99_in(c, call, i);
    }
    l.hidden = l.h->sizes[l.h->rank - 1];
    const int64_t n = 4 * l.hidden, steps = l.in[X]->sizes[0];
    l.gates = adzi_c99_scratch(c, ADZ_F32, 1, &n);
    adzi_c99_map(c, l.h, "= $a", l.in[H0]);
    adzi_c99_map(c, l.cell, "= $a", l.in[C0]);
    char step[4], b[4], t[48];
    adzi_c99_loop(c, steps, step);
    snprintf(t, sizeof t, "%s", step);
    if (adzi_c99_attr(call, "reverse", 0) != 0) {
        adzi_c99_line(c, "const int t = %lld - %s;", (long long)steps - 1, step);
        snprintf(t, sizeof t, "t");
    }
    adzi_c99_loop(c, l.in[X]->sizes[1], b);
    if (l.in[LENGTHS] != NULL) {
        print_padding(c, &l, t, b);
    }
    print_gates(c, &l, t, b);
    print_cell(c, &l, t, b);
    adzi_c99_end(c);
    adzi_c99_end(c);
}
