/* Attention and LSTM layers, printed as loops that need little scratch memory. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

enum { TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

/* A position in a value: an index, and the variables of its last two dimensions. Each is "" where
 * there is none. */
typedef struct {
    const char *base, *row, *column;
} position;

static void write_index(const adzi_c99_value *v, position at, char index[ADZI_C99_INDEX])
{
    snprintf(index, ADZI_C99_INDEX, "%s", at.base);
    if (at.row[0] != '\0') {
        adzi_c99_index(index, ADZI_C99_INDEX, at.row, v->strides[v->rank - 2]);
    }
    if (at.column[0] != '\0') {
        adzi_c99_index(index, ADZI_C99_INDEX, at.column, v->strides[v->rank - 1]);
    }
}

static void element(adzi_c99 *c, const adzi_c99_value *v, position at, char text[TEXT])
{
    char index[ADZI_C99_INDEX];
    write_index(v, at, index);
    adzi_c99_element(c, v->memory, index, text, TEXT);
}

static void address(adzi_c99 *c, const adzi_c99_value *v, position at, char text[TEXT])
{
    char index[ADZI_C99_INDEX];
    write_index(v, at, index);
    adzi_c99_address(c, v->memory, index, text, TEXT);
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
    element(c, &a->scores, (position){ "", "", s }, score);
    if (q->strides[q->rank - 1] == 1 && k->strides[k->rank - 1] == 1) {
        address(c, q, (position){ base_of(a, Q), i, "" }, x);
        address(c, k, (position){ base_of(a, K), s, "" }, w);
        adzi_c99_line(c, "float score = @dot(%s, %s, %lld) * %s;", x, w,
            (long long)q->sizes[q->rank - 1], adzi_c99_real(c, a->scale));
    } else {
        adzi_c99_line(c, "float score = 0;");
        adzi_c99_loop(c, q->sizes[q->rank - 1], d);
        element(c, q, (position){ base_of(a, Q), i, d }, x);
        element(c, k, (position){ base_of(a, K), s, d }, w);
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
        element(c, &full, (position){ base_of(a, MASK), i, s }, x);
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
    element(c, &a->scores, (position){ "", "", "s" }, score);
    adzi_c99_loop(c, y->sizes[y->rank - 1], d);
    element(c, y, (position){ base_of(a, Y), i, d }, to);
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
    element(c, v, (position){ base_of(a, V), "s", d }, from);
    element(c, y, (position){ base_of(a, Y), i, d }, to);
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

/* A position in a tensor of the layer, whose text goes to `base`. It begins with the tensor's
 * offset, because weights and states may be views. */
static position behind_offset(const adzi_c99_value *v, position at, char base[ADZI_C99_INDEX])
{
    base[0] = '\0';
    if (v->offset != 0) {
        snprintf(base, ADZI_C99_INDEX, "%lld", (long long)v->offset);
    }
    adzi_c99_join(base, ADZI_C99_INDEX, at.base);
    return (position){ base, at.row, at.column };
}

static void part(adzi_c99 *c, const adzi_c99_value *v, position at, char text[TEXT])
{
    char base[ADZI_C99_INDEX];
    element(c, v, behind_offset(v, at, base), text);
}

static void address_of_part(adzi_c99 *c, const adzi_c99_value *v, position at, char text[TEXT])
{
    char base[ADZI_C99_INDEX];
    address(c, v, behind_offset(v, at, base), text);
}

/* gates = x_t w_ih^T + b_ih + h w_hh^T + b_hh of row b. */
static void print_gates(adzi_c99 *c, const lstm *l, const char *t, const char *b)
{
    char j[4], k[4], gate[TEXT], bias[TEXT], x[TEXT], w[TEXT], index[ADZI_C99_INDEX] = "";
    adzi_c99_index(index, sizeof index, t, l->in[X]->strides[0]);
    adzi_c99_loop(c, 4 * l->hidden, j);
    part(c, &l->gates, (position){ "", "", j }, gate);
    adzi_c99_line(c, "float gate = 0;");
    for (int i = BIAS_IH; i <= BIAS_HH; ++i) {
        if (l->in[i] != NULL) {
            part(c, l->in[i], (position){ "", "", j }, bias);
            adzi_c99_line(c, "gate += %s;", bias);
        }
    }
    for (int side = 0; side < 2; ++side) {
        const adzi_c99_value *from = side == 0 ? l->in[X] : l->h;
        const adzi_c99_value *weight = l->in[side == 0 ? WEIGHT_IH : WEIGHT_HH];
        const char *base = side == 0 ? index : "";
        const int64_t n = weight->sizes[1];
        if (from->strides[from->rank - 1] == 1 && weight->strides[1] == 1) {
            address_of_part(c, from, (position){ base, b, "" }, x);
            address_of_part(c, weight, (position){ "", j, "" }, w);
            adzi_c99_line(c, "gate += @dot(%s, %s, %lld);", x, w, (long long)n);
        } else {
            adzi_c99_loop(c, n, k);
            part(c, from, (position){ base, b, k }, x);
            part(c, weight, (position){ "", j, k }, w);
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
        part(c, &l->gates, (position){ at, "", j }, gate[g]);
    }
    part(c, l->h, (position){ "", b, j }, h);
    part(c, l->cell, (position){ "", b, j }, cell);
    part(c, l->y, (position){ index, b, j }, y);
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
    part(c, l->in[LENGTHS], (position){ "", "", b }, length);
    adzi_c99_line(c, "if (%s >= %s) {", t, length);
    ++c->depth;
    adzi_c99_index(index, sizeof index, t, l->y->strides[0]);
    adzi_c99_loop(c, l->hidden, j);
    part(c, l->y, (position){ index, b, j }, y);
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
