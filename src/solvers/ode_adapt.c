/* Steps with error control. The host reads the error of each step, and chooses the next one. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/ode_control.h"
#include "solvers/ode_run.h"
#include "tensor/kernel/real.h"

/* An element of x as a part of atol + rtol max(|y|, |z|); NaN if y or z is not finite. */
static double part_of(const adz_ode_options *o, const adz_tensor *x, const adz_tensor *y,
    const adz_tensor *z, int64_t i)
{
    const double from = fabs(adzi_ode_element(y, i)), to = fabs(adzi_ode_element(z, i));
    const double atol = o->atols != NULL ? o->atols[(size_t)i % o->n_atols] : o->atol;
    return isfinite(from) && isfinite(to)
               ? adzi_ode_element(x, i) / (atol + o->rtol * fmax(from, to))
               : NAN;
}

/* The root mean square of those parts. All tensors are contiguous. */
static double size_of(
    const adz_ode_options *o, const adz_tensor *x, const adz_tensor *y, const adz_tensor *z)
{
    double sum = 0, largest = 0;
    for (int64_t i = 0; i < x->numel; ++i) {
        const double part = part_of(o, x, y, z, i);
        sum += part * part;
        largest = fmax(largest, fabs(part));
    }
    if (!isinf(sum) || isinf(largest)) {
        return x->numel > 0 ? sqrt(sum / (double)x->numel) : 0;
    }
    sum = 0; /* the squares have overflowed */
    for (int64_t i = 0; i < x->numel; ++i) {
        const double part = part_of(o, x, y, z, i) / largest;
        sum += part * part;
    }
    return largest * sqrt(sum / (double)x->numel);
}

static bool fail(const adzi_ode_run *run, adzi_ode_failure failure)
{
    const adzi_ode *ode = run->ode;
    double largest = 0;
    if (run->y->numel > 0) {
        adz_tensor *of_all = adz_max(adz_abs(run->y));
        largest = of_all != NULL ? adz_item(of_all) : NAN;
    }
    adzi_ode_fail(failure, &(adzi_ode_early){ ode->e.op, ode->o.method, adzi_ode_time(ode, run->t),
                               ode->report.steps, adz_tensor_shape(run->y), largest });
    return false;
}

static double shortest_step(const adzi_ode_run *run)
{
    return adzi_ode_shortest(adzi_ode_eps(run->ode->times), run->t);
}

/* The first step after Hairer, Norsett and Wanner I, section II.4, but not shorter than the time
 * can resolve. */
static bool choose_first_step(adzi_ode_run *run, double most)
{
    const adzi_ode *ode = run->ode;
    const adz_ode_options *o = &ode->o;
    const double least = 2 * shortest_step(run);
    adz_tensor *t = adz_scalar(run->t, (adz_dtype)ode->times->dtype), *y = run->y;
    adz_tensor *f = adzi_ode_slope(ode, t, y);
    run->first = f = f != NULL ? adz_clone(f) : NULL;
    if (f == NULL) {
        return false;
    }
    const double d0 = size_of(o, y, y, y), d1 = size_of(o, f, y, y);
    if (!isfinite(d0) || !isfinite(d1)) {
        return fail(run, isfinite(d0) ? ADZI_ODE_SLOPE_NOT_FINITE : ADZI_ODE_STATE_NOT_FINITE);
    }
    if (o->first_step > 0) {
        run->h = fmax(o->first_step, least);
        return true;
    }
    double h = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : ADZI_ODE_FIRST_OF * d0 / d1;
    h = fmin(fmax(h, least), most);
    const adzi_ode_span span = { .t = t, .from = run->t, .length = h };
    adz_tensor *z = adz_add_scaled(y, f, h);
    adz_tensor *g = adzi_ode_slope(ode, adzi_ode_moment(&span, 1), z);
    g = g != NULL ? adz_sub(g, f) : NULL;
    if (g == NULL) {
        return false;
    }
    const double most_of = fmax(d1, size_of(o, g, y, y) / h);
    const double other = most_of <= 1e-15
                             ? fmax(1e-6, h * 1e-3)
                             : adzi_real_pow(ADZI_ODE_FIRST_OF / most_of, 1 / adzi_ode_order(ode));
    run->h = fmin(100 * h, other);
    run->h = fmax(isfinite(run->h) && run->h > 0 ? run->h : h, least);
    return true;
}

bool adzi_ode_reserve_end(adzi_ode_run *run)
{
    adzi_ode *ode = run->ode;
    const int64_t has = run->memory != NULL ? run->memory->sizes[1] : 0;
    if (ode->n_steps + 2 <= has) {
        return true;
    }
    const int64_t wants[] = { 2, has > 0 ? 2 * has : 64 };
    adz_tensor *memory = adzi_scratch(ode->e.op, ADZ_F64, 2, wants);
    if (memory == NULL) {
        return false;
    }
    double *ends = (double *)(void *)memory->data, *orders = ends + wants[1];
    if (has > 0) {
        memcpy(ends, ode->ends, (size_t)has * sizeof(double));
        memcpy(orders, ode->orders, (size_t)has * sizeof(double));
    }
    run->memory = memory;
    ode->ends = ends;
    ode->orders = orders;
    return true;
}

/* Whether a step may be tried that goes no further than `stop`. */
static bool check_step(const adzi_ode_run *run, double stop)
{
    const adzi_ode *ode = run->ode;
    const double least = shortest_step(run);
    if (ode->report.steps + ode->report.rejected >= ode->o.max_steps) {
        return fail(run, ADZI_ODE_MAX_STEPS);
    }
    if (run->h > least || run->t + run->h >= stop) {
        return true;
    }
    const bool limited = ode->o.max_step > 0 && ode->o.max_step <= least;
    return fail(run, limited ? ADZI_ODE_MAX_STEP : ADZI_ODE_TOO_SHORT);
}

bool adzi_ode_accept(
    adzi_ode_run *run, int64_t k, const adzi_ode_span *span, adzi_ode_move *move, bool *over)
{
    adzi_ode *ode = run->ode;
    ++ode->report.steps;
    if (ode->n_events > 0 && !adzi_ode_take_hits(run, span, move)) {
        return false;
    }
    const bool ended = ode->ended >= 0;
    if (*over && !ended && ode->needs_end) {
        return fail(run, ADZI_ODE_NO_EVENT);
    }
    if (!adzi_ode_write_states(run, span, move)) {
        return false;
    }
    *over = *over || ended;
    run->t = ended ? ode->hits[ode->n_hits - 1].at : ode->ends[k + 1];
    ode->report.time = adzi_ode_time(ode, run->t);
    return true;
}

/* Where the next step has to end at the latest. */
static double next_stop(const adzi_ode_run *run, double end)
{
    const adzi_ode *ode = run->ode;
    return ode->o.method == ADZ_ODE_RODAS4 ? ode->at[run->next] : end;
}

/* The end of the next step: `stop`, if it comes that far. */
static double end_of_step(adzi_ode_run *run, double stop)
{
    const double most = run->ode->o.max_step;
    run->h = most > 0 ? fmin(run->h, most) : run->h;
    const double end = run->t + run->h;
    const bool near =
        run->t + ADZI_ODE_NEAR * run->h >= stop && !(most > 0 && stop - run->t > most);
    return near || end >= stop ? stop : end;
}

bool adzi_ode_may_step(adzi_ode_run *run, double stop)
{
    adzi_ode *ode = run->ode;
    const double to = end_of_step(run, stop);
    if (!check_step(run, stop) || !adzi_ode_reserve_end(run)) {
        return false;
    }
    ode->ends[ode->n_steps] = run->t;
    ode->ends[++ode->n_steps] = to;
    return true;
}

/* Tries step k. True with *over if it was the last one. */
static bool try_step(adzi_ode_run *run, int64_t k, double end, bool *over)
{
    adzi_ode *ode = run->ode;
    adzi_ode_span span;
    adzi_ode_move move = { .first = run->first };
    const double stop = next_stop(run, end);
    if (!adzi_ode_may_step(run, stop)) {
        return false;
    }
    const double wanted = run->h;
    const bool stops = ode->ends[k + 1] == stop;
    *over = stops && stop == end;
    if (!adzi_ode_span_of(ode, k, &span) || !adzi_ode_run_step(run, &span, &move)) {
        return false;
    }
    const double error = size_of(&ode->o, move.error, run->y, move.y1);
    const double factor = error == 0
                              ? ADZI_ODE_GROWTH
                              : ADZI_ODE_SAFETY * adzi_real_pow(error, -1 / adzi_ode_order(ode));
    run->h = span.length * (isnan(factor) ? ADZI_ODE_SHRINK
                                          : fmin(ADZI_ODE_GROWTH, fmax(ADZI_ODE_SHRINK, factor)));
    if (error <= 1) {
        /* A step that was cut short at a time says little about the next one. */
        run->h = stops ? fmax(run->h, wanted) : run->h;
    } else {
        ++ode->report.rejected;
        ode->n_steps = k;
        *over = false;
        move.y1 = move.state = run->y;
        move.last = move.first; /* f at the begin */
        return adzi_ode_go_on(run, &move);
    }
    return adzi_ode_keep_state(run, k) && adzi_ode_accept(run, k, &span, &move, over) &&
           adzi_ode_go_on(run, &move);
}

bool adzi_ode_adapt(adzi_ode_run *run)
{
    adzi_ode *ode = run->ode;
    const double end = ode->at[ode->n_times - 1];
    bool over = false;
    run->t = ode->at[0];
    ode->report.time = adzi_ode_time(ode, run->t);
    if (!choose_first_step(run, end - run->t) ||
        !adzi_ode_events_begin(run, end - run->t + fabs(run->t))) {
        return false;
    }
    if (ode->o.method == ADZ_ODE_BDF) {
        return adzi_ode_adapt_bdf(run, end);
    }
    run->first = run->records ? NULL : run->first; /* it has no graph */
    while (!over) {
        if (!try_step(run, ode->n_steps, end, &over)) {
            return false;
        }
    }
    return true;
}
