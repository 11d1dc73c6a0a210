/* Steps of Runge-Kutta methods, and their dense output. */
#include <math.h>

#include "autograd/solvers/ode.h"

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

static const double rk_c[4] = { 0, 0.5, 0.5, 1 };
static const double rk_weights[4] = { 1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6 };

adz_tensor *adzi_ode_slope(const adzi_ode *ode, adz_tensor *t, adz_tensor *y)
{
    adz_tensor *lead[] = { t, y };
    return t != NULL && y != NULL ? adzi_equation_call(&ode->e, lead, 2) : NULL;
}

adz_tensor *adzi_ode_sum(adz_tensor *const *k, const double *a, int n)
{
    adz_tensor *sum = NULL;
    for (int i = 0; i < n; ++i) {
        if (a[i] != 0) {
            sum = sum == NULL ? adz_mul_number(k[i], a[i]) : adz_add_scaled(sum, k[i], a[i]);
            if (sum == NULL) {
                return NULL;
            }
        }
    }
    return sum;
}

adz_tensor *adzi_ode_scaled(const adzi_ode_span *span, adz_tensor *s)
{
    return span->h != NULL ? adz_mul(s, span->h) : adz_mul_number(s, span->length);
}

adz_tensor *adzi_ode_advance(const adzi_ode_span *span, adz_tensor *y, adz_tensor *s)
{
    return span->h != NULL ? adz_add(y, adz_mul(s, span->h)) : adz_add_scaled(y, s, span->length);
}

adz_tensor *adzi_ode_moment(const adzi_ode_span *span, double c)
{
    return c == 0            ? span->t
           : span->h != NULL ? adz_add_scaled(span->t, span->h, c)
                             : adz_scalar(span->from + c * span->length, (adz_dtype)span->t->dtype);
}

/* The slopes of the stages after the first one. A method with `chained` stages has one coefficient
 * for each stage, that of the stage before it, which is c. */
static bool stages(const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, adz_tensor **k,
    int n, const double *c, const double (*a)[STAGES], adz_tensor **end)
{
    for (int i = 1; i < n; ++i) {
        adz_tensor *s = a != NULL ? adzi_ode_sum(k, a[i], i) : adz_mul_number(k[i - 1], c[i]);
        *end = s != NULL ? adzi_ode_advance(span, y, s) : NULL;
        k[i] = adzi_ode_slope(ode, adzi_ode_moment(span, c[i]), *end);
        if (k[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* The dense output is y0 + p (d + q (b + p (c + q e))) with p = theta and q = 1 - theta. */
static bool hermite(
    const adzi_ode_span *span, adz_tensor *first, adz_tensor *last, adzi_ode_move *move)
{
    adz_tensor **d = move->dense;
    d[0] = adz_sub(move->y1, move->y0);
    d[1] = adz_sub(adzi_ode_scaled(span, first), d[0]);
    d[2] = adz_sub(adz_sub(d[0], adzi_ode_scaled(span, last)), d[1]);
    d[3] = NULL;
    return d[2] != NULL;
}

static bool dormand_prince(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, bool dense, adzi_ode_move *move)
{
    adz_tensor *k[STAGES] = { move->first };
    if (!stages(ode, span, y, k, STAGES, dp_c, dp_a, &move->y1)) {
        return false;
    }
    move->last = k[STAGES - 1];
    move->error = NULL;
    if (!ode->fixed) {
        adz_tensor *s = adzi_ode_sum(k, dp_error, STAGES);
        move->error = s != NULL ? adzi_ode_scaled(span, s) : NULL;
        if (move->error == NULL) {
            return false;
        }
    }
    if (dense) {
        adz_tensor *s = adzi_ode_sum(k, dp_dense, STAGES);
        return s != NULL && hermite(span, k[0], k[STAGES - 1], move) &&
               (move->dense[3] = adzi_ode_scaled(span, s)) != NULL;
    }
    return true;
}

static bool classical(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, bool dense, adzi_ode_move *move)
{
    adz_tensor *k[4] = { move->first }, *end;
    if (!stages(ode, span, y, k, 4, rk_c, NULL, &end)) {
        return false;
    }
    adz_tensor *s = adzi_ode_sum(k, rk_weights, 4);
    move->y1 = s != NULL ? adzi_ode_advance(span, y, s) : NULL;
    move->last = move->error = NULL;
    if (move->y1 != NULL && dense) {
        move->last = adzi_ode_slope(ode, adzi_ode_moment(span, 1), move->y1);
        return move->last != NULL && hermite(span, k[0], move->last, move);
    }
    return move->y1 != NULL;
}

bool adzi_ode_step(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, bool dense, adzi_ode_move *move)
{
    move->y0 = y;
    if (move->first == NULL) {
        move->first = adzi_ode_slope(ode, span->t, y);
    }
    if (move->first == NULL) {
        return false;
    }
    return ode->o.method == ADZ_ODE_RODAS4 ? adzi_ode_rodas(ode, span, y, dense, move)
           : ode->o.method == ADZ_ODE_RK4  ? classical(ode, span, y, dense, move)
                                           : dormand_prince(ode, span, y, dense, move);
}

static adz_tensor *part_of(adz_tensor *x, adz_tensor *theta, double part)
{
    return theta != NULL ? adz_mul(x, theta) : adz_mul_number(x, part);
}

adz_tensor *adzi_ode_dense(
    const adzi_ode_move *move, adz_tensor *theta, adz_tensor *rest, double part)
{
    adz_tensor *const *d = move->dense;
    if ((theta == NULL) != (rest == NULL)) {
        return NULL;
    }
    adz_tensor *y = d[3] != NULL ? adz_add(d[2], part_of(d[3], rest, 1 - part)) : d[2];
    y = adz_add(d[1], part_of(y, theta, part));
    y = adz_add(d[0], part_of(y, rest, 1 - part));
    return adz_add(move->y0, part_of(y, theta, part));
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* The index of the time at which a step ends or begins, if ends are computed from the times; or -1.
 * The time at which a search for an event ends does not count. */
static int64_t time_at(const adzi_ode *ode, double t)
{
    int64_t low = 0, high = ode->event.function.call != NULL ? 0 : ode->n_times - 1;
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

bool adzi_ode_span_of(const adzi_ode *ode, int64_t k, adzi_ode_span *span)
{
    *span = (adzi_ode_span){ NULL, NULL, NAN, NAN };
    if (ode->fixed) {
        const int64_t i = k / ode->o.steps, j = k % ode->o.steps;
        adz_tensor *begin = adz_select(ode->times, 0, i);
        adz_tensor *width = adz_sub(adz_select(ode->times, 0, i + 1), begin);
        span->h = adz_mul_number(width, 1.0 / (double)ode->o.steps);
        span->t = j == 0 ? begin : adz_add_scaled(begin, width, (double)j / (double)ode->o.steps);
        return span->t != NULL && span->h != NULL;
    }
    const int64_t begins = time_at(ode, ode->ends[k]), ends = time_at(ode, ode->ends[k + 1]);
    span->from = ode->ends[k];
    span->length = ode->ends[k + 1] - ode->ends[k];
    span->t = end_of(ode, begins, span->from);
    if (begins >= 0 || ends >= 0) {
        span->h = adz_sub(end_of(ode, ends, ode->ends[k + 1]), span->t);
        return span->h != NULL;
    }
    return span->t != NULL;
}

bool adzi_ode_is_dense(const adzi_ode *ode, int64_t k, int64_t next)
{
    return !ode->fixed && next < ode->n_times && ode->at[next] < ode->ends[k + 1] &&
           ode->event.function.call == NULL;
}

/* The parts of the step at m times from `first` on, and what is left of it, as tensors that
 * broadcast to states along a new first dimension. */
static bool parts_of(const adzi_ode *ode, const adzi_ode_span *span, int rank, int64_t first,
    int64_t m, adz_tensor **theta, adz_tensor **rest)
{
    int64_t sizes[ADZ_MAX_RANK] = { m };
    for (int d = 1; d <= rank; ++d) {
        sizes[d] = 1;
    }
    if (ode->by_tensors) {
        adz_tensor *passed = adz_sub(adz_narrow(ode->times, 0, first, m), span->t);
        passed =
            span->h != NULL ? adz_div(passed, span->h) : adz_mul_number(passed, 1 / span->length);
        *theta = adz_reshape(passed, adz_shape_of(rank + 1, sizes));
        *rest = adz_number_sub(1, *theta);
        return *rest != NULL;
    }
    adz_tensor *numbers[2];
    for (int i = 0; i < 2; ++i) {
        numbers[i] = adzi_scratch(ode->e.op, ADZ_F64, rank + 1, sizes);
        for (int64_t j = 0; j < m && numbers[i] != NULL; ++j) {
            const double part = (ode->at[first + j] - span->from) / span->length;
            ((double *)(void *)numbers[i]->data)[j] = i == 0 ? part : 1 - part;
        }
        numbers[i] = adz_to(numbers[i], (adz_dtype)ode->times->dtype);
    }
    *theta = numbers[0];
    *rest = numbers[1];
    return *theta != NULL && *rest != NULL;
}

bool adzi_ode_states(const adzi_ode *ode, int64_t k, const adzi_ode_span *span,
    const adzi_ode_move *move, int64_t *next, adz_tensor **states, size_t *count)
{
    const int64_t first = *next;
    bool ends = ode->fixed && (k + 1) % ode->o.steps == 0; /* a time is the end of the step */
    *count = 0;
    if (!ode->fixed) {
        while (*next < ode->n_times && ode->at[*next] < ode->ends[k + 1]) {
            ++*next;
        }
        ends = *next < ode->n_times && ode->at[*next] == ode->ends[k + 1];
    }
    if (*next > first) {
        adz_tensor *theta, *rest;
        states[*count] = parts_of(ode, span, move->y0->rank, first, *next - first, &theta, &rest)
                             ? adzi_ode_dense(move, theta, rest, 0)
                             : NULL;
        if (states[(*count)++] == NULL) {
            return false;
        }
    }
    if (ends) {
        ++*next;
        states[*count] = adz_unsqueeze(move->y1, 0);
        return states[(*count)++] != NULL;
    }
    return true;
}
