/* Attention, one query after another, with the scores of one query as scratch memory. The
 * expression would hold all of them. */
#include <stdio.h>

#include "export/c99/printer.h"

/* A spot in a value: an index, and the variables of its last two dimensions. Each is "" where
 * there is none. */
typedef struct {
    const char *base, *row, *column;
} spot;

static void index_of_spot(const adzi_c99_value *v, spot at, char index[ADZI_C99_INDEX])
{
    snprintf(index, ADZI_C99_INDEX, "%s", at.base);
    if (at.row[0] != '\0') {
        adzi_c99_index(index, ADZI_C99_INDEX, at.row, v->strides[v->rank - 2]);
    }
    if (at.column[0] != '\0') {
        adzi_c99_index(index, ADZI_C99_INDEX, at.column, v->strides[v->rank - 1]);
    }
}

static void element(adzi_c99 *c, const adzi_c99_value *value, spot at, char text[ADZI_C99_TEXT])
{
    char index[ADZI_C99_INDEX];
    index_of_spot(value, at, index);
    adzi_c99_element(c, value->memory, index, text, ADZI_C99_TEXT);
}

static void address(adzi_c99 *c, const adzi_c99_value *value, spot at, char text[ADZI_C99_TEXT])
{
    char index[ADZI_C99_INDEX];
    index_of_spot(value, at, index);
    adzi_c99_address(c, value->memory, index, text, ADZI_C99_TEXT);
}

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
    char s[4], d[4], score[ADZI_C99_TEXT], x[ADZI_C99_TEXT], w[ADZI_C99_TEXT];
    adzi_c99_line(c, "float most = (-1.0f / 0.0f), total = 0;");
    snprintf(s, sizeof s, "s");
    adzi_c99_open(c, "for (int s = 0; s < %s; ++s) {", keys);
    element(c, &a->scores, (spot){ "", "", s }, score);
    if (q->strides[q->rank - 1] == 1 && k->strides[k->rank - 1] == 1) {
        address(c, q, (spot){ base_of(a, Q), i, "" }, x);
        address(c, k, (spot){ base_of(a, K), s, "" }, w);
        adzi_c99_line(c, "float score = @dot(%s, %s, %lld) * %s;", x, w,
            (long long)q->sizes[q->rank - 1], adzi_c99_real(c, a->scale));
    } else {
        adzi_c99_line(c, "float score = 0;");
        adzi_c99_loop(c, q->sizes[q->rank - 1], d);
        element(c, q, (spot){ base_of(a, Q), i, d }, x);
        element(c, k, (spot){ base_of(a, K), s, d }, w);
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
        element(c, &full, (spot){ base_of(a, MASK), i, s }, x);
        if (adzi_is_float(mask->dtype)) {
            adzi_c99_line(c, "score += %s;", x);
        } else {
            adzi_c99_line(c, "score = %s ? score : (-1.0f / 0.0f);", x);
        }
    }
    adzi_c99_line(c, "most = score > most || score != score ? score : most;");
    adzi_c99_line(c, "%s = score;", score);
    adzi_c99_close(c);
}

/* y[i] = the sum of the rows of v, weighted by e^(score - most) / total. A query that sees no key
 * gets zeros. */
static void print_weighted(adzi_c99 *c, const attention *a, const char *i, const char *keys)
{
    const adzi_c99_value *v = a->values[V], *y = a->values[Y];
    char d[4], score[ADZI_C99_TEXT], from[ADZI_C99_TEXT], to[ADZI_C99_TEXT];
    element(c, &a->scores, (spot){ "", "", "s" }, score);
    adzi_c99_loop(c, y->sizes[y->rank - 1], d);
    element(c, y, (spot){ base_of(a, Y), i, d }, to);
    adzi_c99_line(c, "%s = 0;", to);
    adzi_c99_end(c);
    adzi_c99_open(c, "for (int s = 0; s < %s; ++s) {", keys);
    adzi_c99_line(c, "%s = most == (-1.0f / 0.0f) ? 0 : @exp(%s - most);", score, score);
    adzi_c99_line(c, "total += %s;", score);
    adzi_c99_close(c);
    adzi_c99_open(c, "for (int s = 0; s < %s; ++s) {", keys);
    adzi_c99_line(c, "const float share = total == 0 ? 0 : %s / total;", score);
    adzi_c99_loop(c, y->sizes[y->rank - 1], d);
    element(c, v, (spot){ base_of(a, V), "s", d }, from);
    element(c, y, (spot){ base_of(a, Y), i, d }, to);
    adzi_c99_line(c, "%s += share * %s;", to, from);
    adzi_c99_end(c);
    adzi_c99_close(c);
}

ADZI_C99_PRINTER(attention)
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
