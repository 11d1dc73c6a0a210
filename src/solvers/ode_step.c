/* Steps of Runge-Kutta methods, and their dense output. */
#include <math.h>

#include "solvers/ode_bdf.h"

enum { STAGES = 7 };

/* The method of Dormand and Prince, 1980: order 5, with an error estimate of order 4. The last
 * stage is the first of the next step. */
static const double dp_c[STAGES] = { 0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1 };
static const double dp_a[STAGES][STAGES] = { { 0 }, { 1.0 / 5 }, { 3.0 / 40, 9.0 / 40 },
    { 44.0 / 45, -56.0 / 15, 32.0 / 9 },
    { 19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729 },
    { 9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656 },
    { 35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84 } };
static const double dp_error[STAGES] = { 71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920,
    -17253.0 / 339200, 22.0 / 525, -1.0 / 40 };
/* Dense output of order 4, of Shampine. */
static const double dp_dense[STAGES] = { -12715105075.0 / 11282082432, 0,
    87487479700.0 / 32700410799, -10690763975.0 / 1880347072, 701980252875.0 / 199316789632,
    -1453857185.0 / 822651844, 69997945.0 / 29380423 };

/* A Runge-Kutta method: n stages at the parts c of a step. Stage i goes from y by the slopes of the
 * stages before it, with the coefficients a[i]. Without `a` it goes by the slope of stage i - 1
 * alone, with the coefficient c[i]. */
typedef struct tableau {
    int n;
    const double *c;
    const double (*a)[STAGES];
} tableau;

static const double rk_c[4] = { 0, 0.5, 0.5, 1 };
static const double rk_weights[4] = { 1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6 };

adz_tensor *adzi_ode_slope(const adzi_ode *ode, adz_tensor *t, adz_tensor *y)
{
    adz_tensor *variables[] = { t != NULL ? adzi_ode_time_of(ode, t) : NULL, y };
    if (ode->counts != NULL) {
        ++ode->counts->evaluations;
    }
    adz_tensor *f =
        variables[0] != NULL && y != NULL ? adzi_equation_call(&ode->e, variables, 2) : NULL;
    f = adzi_ode_heard(ode, &ode->e, variables, f);
    return f == NULL           ? NULL
           : ode->sign != NULL ? adz_mul(f, ode->sign)
           : ode->mirrored     ? adz_neg(f)
                               : f;
}

adz_tensor *adzi_ode_time_of(const adzi_ode *ode, adz_tensor *t)
{
    return ode->sign != NULL ? adz_mul(t, ode->sign) : ode->mirrored ? adz_neg(t) : t;
}

adz_tensor *adzi_ode_scaled(const adzi_ode_span *span, adz_tensor *s)
{
    if (span->measure != NULL) {
        return s != NULL ? adz_mul(s, adz_to(span->measure, (adz_dtype)s->dtype)) : NULL;
    }
    return span->h != NULL ? adz_mul(s, span->h) : adz_mul_number(s, span->length);
}

adz_tensor *adzi_ode_advance(
    const adzi_ode_span *span, adz_tensor *y, adz_tensor *const *k, const double *a, int n)
{
    if (span != NULL && span->measure != NULL) {
        return adzi_linear_combination_by(y, span->measure, k, a, NULL, n);
    }
    if (span == NULL || span->h == NULL) {
        return adzi_linear_combination(y, span != NULL ? span->length : 1, k, a, n);
    }
    adz_tensor *s = adz_mul(adzi_linear_combination(NULL, 1, k, a, n), span->h);
    return y != NULL ? adz_add(y, s) : s;
}

adz_tensor *adzi_ode_moment(const adzi_ode_span *span, double c)
{
    if (span->measure != NULL && c != 0) {
        return adz_to(
            adz_add(span->begin, adz_mul_number(span->measure, c)), (adz_dtype)span->t->dtype);
    }
    return c == 0            ? span->t
           : span->h != NULL ? adz_add_scaled(span->t, span->h, c)
                             : adz_scalar(span->from + c * span->length, (adz_dtype)span->t->dtype);
}

/* The slopes of the stages after the first one. y1 becomes where the last one stands. */
static bool stages(const adzi_ode *ode, const adzi_ode_span *span, adzi_ode_move *move, tableau t)
{
    adz_tensor **k = move->k, *y = move->y0;
    for (int i = 1; i < t.n; ++i) {
        move->y1 = t.a != NULL ? adzi_ode_advance(span, y, k, t.a[i], i)
                               : adzi_ode_advance(span, y, &k[i - 1], &t.c[i], 1);
        k[i] = adzi_ode_slope(ode, adzi_ode_moment(span, t.c[i]), move->y1);
        if (k[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* The dense output in the functions of ode.h. */
static double dense_weight(int c, int i)
{
    const double b = dp_a[STAGES - 1][i], first = i == 0, last = i == STAGES - 1;
    return c == 0 ? b : c == 1 ? first - b : c == 2 ? 2 * b - first - last : dp_dense[i];
}

static bool dormand_prince(const adzi_ode *ode, const adzi_ode_span *span, adzi_ode_move *move)
{
    adz_tensor **k = move->k;
    if (!stages(ode, span, move, (tableau){ STAGES, dp_c, dp_a })) {
        return false;
    }
    move->last = k[STAGES - 1];
    move->weight = dense_weight;
    move->n_stages = STAGES;
    move->span = span;
    move->error =
        ode->fixed || ode->graph ? NULL : adzi_ode_advance(span, NULL, k, dp_error, STAGES);
    return move->error != NULL || ode->fixed || ode->graph;
}

static bool classical(const adzi_ode *ode, const adzi_ode_span *span, adzi_ode_move *move)
{
    if (!stages(ode, span, move, (tableau){ 4, rk_c, NULL })) {
        return false;
    }
    move->y1 = adzi_ode_advance(span, move->y0, move->k, rk_weights, 4);
    return move->y1 != NULL;
}

bool adzi_ode_step(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, adzi_ode_move *move)
{
    if (ode->o.method == ADZ_ODE_BDF) {
        return adzi_ode_bdf(ode, span, y, move);
    }
    move->y0 = y;
    if (move->first == NULL) {
        move->first = adzi_ode_slope(ode, span->t, y);
    }
    if (move->first == NULL) {
        return false;
    }
    move->k[0] = move->first;
    const bool good = ode->o.method == ADZ_ODE_RODAS4 ? adzi_ode_rodas(ode, span, y, move)
                      : ode->o.method == ADZ_ODE_RK4  ? classical(ode, span, move)
                                                      : dormand_prince(ode, span, move);
    move->state = move->y1;
    return good;
}

adz_tensor *adzi_ode_state_of(const adzi_ode *ode, adz_tensor *y0)
{
    return ode->o.method == ADZ_ODE_BDF ? adzi_bdf_begin(y0) : y0;
}

/* ---- the dense output ------------------------------------------------------------------------ */

/* The weights of the stages in the functions of the dense output. */
typedef struct dense_weights {
    double of[ADZI_ODE_DENSE][ADZI_COMBINATION_TERMS];
} dense_weights;

static dense_weights weights_of(const adzi_ode_move *move)
{
    dense_weights w;
    for (int c = 0; c < ADZI_ODE_DENSE; ++c) {
        for (int i = 0; i < move->n_stages; ++i) {
            w.of[c][i] = move->weight(c, i);
        }
    }
    return w;
}

/* The weight of stage i at a part of the step. */
static double weight_at(const dense_weights *w, int i, double part)
{
    const double p = part, q = 1 - part;
    return p * (w->of[0][i] + q * (w->of[1][i] + p * (w->of[2][i] + q * w->of[3][i])));
}

adz_tensor *adzi_ode_dense(const adzi_ode_move *move, adz_tensor *theta, double part)
{
    if (move->order > 0) {
        return adzi_bdf_dense(move, theta, part);
    }
    const dense_weights w = weights_of(move);
    const int n = move->n_stages;
    if (theta == NULL) {
        double a[ADZI_COMBINATION_TERMS];
        for (int i = 0; i < n; ++i) {
            a[i] = weight_at(&w, i, part);
        }
        return adzi_ode_advance(move->span, move->y0, move->k, a, n);
    }
    adz_tensor *rest = adz_number_sub(1, theta), *y = NULL;
    for (int c = ADZI_ODE_DENSE - 1; c >= 0 && rest != NULL; --c) {
        adz_tensor *d = adzi_ode_advance(move->span, NULL, move->k, w.of[c], n);
        y = y == NULL ? d : adz_add(d, adz_mul(y, c % 2 == 0 ? rest : theta));
    }
    return adz_add(move->y0, adz_mul(y, theta));
}

/* The weights of the terms `used` at m times from `first` on, at which a step of differentiation
 * formulas has been interpolated. */
typedef struct terms {
    adz_tensor *used[ADZI_COMBINATION_TERMS], *base;
    int columns[ADZI_COMBINATION_TERMS], n;
} terms;

static terms terms_of(const adzi_ode_move *move, const dense_weights *w)
{
    terms t = { .base = move->order > 0 ? NULL : move->y0 };
    const int n = move->order > 0 ? move->order + 1 : move->n_stages;
    for (int i = 0; i < n; ++i) {
        if (move->order > 0 || weight_at(w, i, 0.5) != 0) {
            t.columns[t.n] = i;
            t.used[t.n++] = move->k[i];
        }
    }
    return t;
}

int adzi_ode_dense_terms(
    int columns[ADZI_COMBINATION_TERMS], double weights[ADZI_ODE_DENSE][ADZI_COMBINATION_TERMS])
{
    const adzi_ode_move move = { .weight = dense_weight, .n_stages = STAGES };
    const dense_weights w = weights_of(&move);
    const terms t = terms_of(&move, &w);
    for (int i = 0; i < t.n; ++i) {
        columns[i] = t.columns[i];
        for (int c = 0; c < ADZI_ODE_DENSE; ++c) {
            weights[c][i] = w.of[c][t.columns[i]];
        }
    }
    return t.n;
}

/* The states at m times from `first` on, which are numbers. */
static adz_tensor *between(const adzi_ode *ode, const adzi_ode_span *span,
    const adzi_ode_move *move, int64_t first, int64_t m)
{
    const dense_weights w = weights_of(move);
    terms t = terms_of(move, &w);
    adz_tensor *weights = adzi_scratch(ode->e.op, ADZ_F64, 2, (int64_t[]){ m, t.n });
    if (weights == NULL) {
        return NULL;
    }
    double *next = (double *)(void *)weights->data;
    for (int64_t j = 0; j < m; ++j) {
        const double part = (ode->at[first + j] - span->from) / span->length;
        for (int i = 0; i < t.n; ++i) {
            *next++ =
                move->order > 0 ? adzi_bdf_weight(i, part) : weight_at(&w, t.columns[i], part);
        }
    }
    adz_tensor *y = adzi_linear_combinations(
        t.base, move->span != NULL ? span->length : 1, t.used, t.n, weights);
    return y != NULL ? adz_to(y, (adz_dtype)move->y1->dtype) : NULL;
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* The index of the time at which a step ends or begins, if ends are computed from the times; or -1.
 * A time after the event that has ended the solution does not count. */
static int64_t time_at(const adzi_ode *ode, double t)
{
    int64_t low = 0, high = ode->n_times - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (ode->at[middle] < t) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ode->by_tensors && ode->at[low] == t ? low : -1;
}

static adz_tensor *end_of(const adzi_ode *ode, int64_t i, double t)
{
    return i >= 0 ? adz_select(ode->times, 0, i) : adz_scalar(t, (adz_dtype)ode->times->dtype);
}

/* The begin of step k of ADZ_ODE_BDF. All its steps move with the first time. */
static adz_tensor *shifted(const adzi_ode *ode, int64_t k)
{
    return ode->by_tensors ? adz_add_number(adz_select(ode->times, 0, 0), ode->ends[k] - ode->at[0])
                           : adz_scalar(ode->ends[k], (adz_dtype)ode->times->dtype);
}

adz_tensor *adzi_ode_end_of(const adzi_ode *ode, const adzi_ode_span *span)
{
    return shifted(ode, span->k + 1);
}

bool adzi_ode_span_of(const adzi_ode *ode, int64_t k, adzi_ode_span *span)
{
    *span = (adzi_ode_span){ .k = k, .from = NAN, .length = NAN };
    if (ode->fixed) {
        const int64_t i = k / ode->o.steps, j = k % ode->o.steps;
        adz_tensor *begin = adz_select(ode->times, 0, i);
        adz_tensor *width = adz_sub(adz_select(ode->times, 0, i + 1), begin);
        span->h = adz_mul_number(width, 1.0 / (double)ode->o.steps);
        span->t = j == 0 ? begin : adz_add_scaled(begin, width, (double)j / (double)ode->o.steps);
        return span->t != NULL && span->h != NULL;
    }
    span->from = ode->ends[k];
    span->length = ode->ends[k + 1] - ode->ends[k];
    if (ode->o.method == ADZ_ODE_BDF) {
        span->t = shifted(ode, k);
        return span->t != NULL;
    }
    const int64_t begins = time_at(ode, ode->ends[k]), ends = time_at(ode, ode->ends[k + 1]);
    span->t = end_of(ode, begins, span->from);
    if (begins >= 0 || ends >= 0) {
        span->h = adz_sub(end_of(ode, ends, ode->ends[k + 1]), span->t);
        return span->h != NULL;
    }
    return span->t != NULL;
}

/* The states at m times from `first` on, which are tensors. */
static adz_tensor *between_tensors(const adzi_ode *ode, const adzi_ode_span *span,
    const adzi_ode_move *move, int64_t first, int64_t m)
{
    int64_t sizes[ADZ_MAX_RANK] = { m };
    const int rank = move->y0->rank + 1;
    for (int d = 1; d < rank; ++d) {
        sizes[d] = 1;
    }
    adz_tensor *passed = adz_sub(adz_narrow(ode->times, 0, first, m), span->t);
    passed = span->h != NULL ? adz_div(passed, span->h) : adz_mul_number(passed, 1 / span->length);
    passed = adz_reshape(passed, adz_shape_of(rank, sizes));
    return passed != NULL ? adzi_ode_dense(move, passed, 0) : NULL;
}

int adzi_ode_states(const adzi_ode *ode, const adzi_ode_span *span, const adzi_ode_move *move,
    int64_t *next, adz_tensor *states[2])
{
    const int64_t k = span->k;
    int count = 0;
    const int64_t first = *next;
    /* Whether a time is the end of the step. An event may have ended the solution before. */
    bool ends = ode->fixed && (k + 1) % ode->o.steps == 0 && *next < ode->n_times;
    if (!ode->fixed) {
        while (*next < ode->n_times && ode->at[*next] < ode->ends[k + 1]) {
            ++*next;
        }
        ends = *next < ode->n_times && ode->at[*next] == ode->ends[k + 1];
    }
    if (ends && move->order > 0 && ode->by_tensors) {
        ends = false; /* only the dense output depends on the time */
        ++*next;
    }
    if (*next > first) {
        states[count] =
            (ode->by_tensors ? between_tensors : between)(ode, span, move, first, *next - first);
        if (states[count++] == NULL) {
            return -1;
        }
    }
    if (ends) {
        ++*next;
        states[count] = adz_unsqueeze(move->y1, 0);
        if (states[count++] == NULL) {
            return -1;
        }
    }
    return count;
}

/* ---- all steps ------------------------------------------------------------------------------- */

/* The hits in step k. */
static bool replay_hits(const adzi_ode *ode, const adzi_ode_span *span, const adzi_ode_move *move,
    int64_t *hit, adz_tensor **hits)
{
    for (; *hit < ode->n_hits && ode->hits[*hit].step == span->k; ++*hit) {
        if (!adzi_ode_at_hit(ode, &ode->hits[*hit], span, move, hits + 2 * *hit)) {
            return false;
        }
    }
    return true;
}

bool adzi_ode_replay(
    const adzi_ode *ode, adz_tensor *y, adz_tensor **list, size_t *count, adz_tensor **hits)
{
    int64_t next = 1, hit = 0;
    adzi_ode_move move = { .first = NULL };
    *count = 0;
    y = adzi_ode_state_of(ode, y);
    for (int64_t k = 0; k < ode->n_steps; ++k) {
        adzi_ode_span span;
        move = (adzi_ode_move){ .first = move.last };
        if (y == NULL || !adzi_ode_span_of(ode, k, &span) || !adzi_ode_step(ode, &span, y, &move)) {
            return false;
        }
        const int n = adzi_ode_states(ode, &span, &move, &next, list + *count);
        if (n < 0 || !replay_hits(ode, &span, &move, &hit, hits)) {
            return false;
        }
        *count += (size_t)n;
        y = move.state;
    }
    return true;
}
