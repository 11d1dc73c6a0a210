/* Events: where a function of time and state changes its sign within a step. */
#include <math.h>

#include "solvers/ode.h"
#include "solvers/ode_run.h"

enum { MOST_HALVINGS = 80 };

static bool check_value(const adzi_ode *ode, double t, double value)
{
    if (isnan(value)) {
        adzi_error(ode->e.op, ADZ_ERR_NUMERIC,
            "the event's function is NaN at t = %s; it must be a number on both sides of the event. Write it without roots and logarithms of what changes its sign, or set max_step",
            adzi_text_number(adzi_ode_time(ode, t)));
        return false;
    }
    return true;
}

/* g(t, y). */
static adz_tensor *value_of(const adzi_ode *ode, adz_tensor *t, adz_tensor *y)
{
    adz_tensor *variables[] = { t != NULL ? adzi_ode_time_of(ode, t) : NULL, y };
    return variables[0] != NULL && y != NULL ? adzi_equation_number(&ode->event, variables, 2)
                                             : NULL;
}

/* The value of the event's function at a time, as a number. NaN is an error. */
static bool event_value(const adzi_ode *ode, double t, adz_tensor *y, double *value)
{
    adz_tensor *g = value_of(ode, adz_scalar(t, (adz_dtype)ode->times->dtype), y);
    *value = g != NULL ? adz_item(g) : NAN;
    return g != NULL && check_value(ode, t, *value);
}

/* ---- the begin ------------------------------------------------------------------------------- */

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/* sum |a| b, or sum a b. A tensor that is ADZ_NONE counts as 0. */
static double dot(adz_tensor *a, adz_tensor *b, bool absolute)
{
    if (adzi_is_none(a)) {
        return 0;
    }
    adz_tensor *product = adz_to(adz_mul(absolute ? adz_abs(a) : a, b), ADZ_F64);
    adz_tensor *sum = adz_sum(product, ADZ_ALL_DIMS, ADZ_DROPDIM);
    return sum != NULL ? adz_item(sum) : NAN;
}

/* g at the begin, and its derivatives by the time and the state, each ADZ_NONE if g does not depend
 * on it. */
static bool derivatives(
    const adzi_ode *ode, double t, adz_tensor *y, double *value, adz_tensor **slopes)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_tensor *time = adz_scalar(t, (adz_dtype)ode->times->dtype);
    adz_tensor *leaves[] = { time != NULL ? adzi_equation_leaf(time) : NULL,
        adzi_equation_leaf(adz_detach(y)) };
    o.retain_graph = o.allow_unused = true;
    slopes[0] = slopes[1] = ADZ_NONE;
    if (leaves[0] == NULL || leaves[1] == NULL) {
        return false;
    }
    const bool before = adz_set_grad_enabled(true);
    adz_tensor *g = value_of(ode, leaves[0], leaves[1]);
    const bool good = g != NULL && (!adzi_requires_grad(g) || adz_autograd_grad(&g, NULL, 1, leaves,
                                                                  2, &o, slopes) == ADZ_OK);
    adz_set_grad_enabled(before);
    *value = g != NULL ? adz_item(g) : NAN;
    return good && check_value(ode, t, *value);
}

bool adzi_ode_event_begin(adzi_ode_run *run, double reach)
{
    adz_tensor *y = run->y, *f = run->first;
    double value;
    adz_tensor *slopes[2];
    if (!derivatives(run->ode, run->t, y, &value, slopes)) {
        return false;
    }
    const double by_time = adzi_is_none(slopes[0]) ? 0 : adz_item(slopes[0]);
    const double part = 8 * adzi_ode_eps(y);
    const double rounding = part * dot(slopes[1], adz_abs(y), true) +
                            part * reach * (dot(slopes[1], adz_abs(f), true) + fabs(by_time));
    const double rate = dot(slopes[1], f, false) + by_time;
    /* Slopes that are not finite say nothing. */
    run->sign = sign_of(fabs(value) <= rounding && isfinite(rounding) ? rate : value);
    return adzi_pending() == ADZ_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

bool adzi_ode_event_within(
    const adzi_ode *ode, const adzi_ode_move *move, double *sign, bool *found)
{
    double value;
    if (!event_value(ode, ode->ends[ode->n_steps], move->y1, &value)) {
        return false;
    }
    const double begin = *sign, end = sign_of(value), wanted = ode->o.event_direction;
    *found = begin != 0 && begin != end && (wanted == 0 || wanted == -begin);
    *sign = end;
    return true;
}

/* The Illinois variant of regula falsi, on the dense output. Of two new points on one side, the
 * second one halves the value on the other side. */
bool adzi_ode_locate(adzi_ode *ode, const adzi_ode_move *move, double begin, double sign)
{
    const double h = ode->ends[ode->n_steps] - begin;
    double low = 0, high = 1, at_low, at_high, value;
    int side = 0;
    if (!event_value(ode, begin + h, move->y1, &at_high) ||
        !event_value(ode, begin, move->y0, &at_low)) {
        return false;
    }
    /* The begin may be an event that does not count. */
    at_low = at_low * sign > 0 ? at_low : -at_high;
    for (int i = 0; i < MOST_HALVINGS && high - low > 1e-16 && at_high != 0; ++i) {
        double part = low + (high - low) * at_low / (at_low - at_high);
        part = part > low && part < high && i < MOST_HALVINGS / 2 ? part : (low + high) / 2;
        if (!event_value(ode, begin + part * h, adzi_ode_dense(move, NULL, part), &value)) {
            return false;
        }
        if (value * sign > 0) {
            at_high = side < 0 ? at_high / 2 : at_high;
            low = part;
            at_low = value;
            side = -1;
        } else {
            at_low = side > 0 ? at_low / 2 : at_low;
            high = part;
            at_high = value;
            side = 1;
        }
    }
    ode->event_at = begin + high * h;
    return true;
}

/* ---- the event as an expression -------------------------------------------------------------- */

/* g at time `t`, and the state then. */
static adz_tensor *recorded_value(const adzi_ode *ode, const adzi_ode_span *span,
    const adzi_ode_move *move, adz_tensor *t, adz_tensor **y)
{
    adz_tensor *passed = adz_sub(t, span->t);
    adz_tensor *theta =
        span->h != NULL ? adz_div(passed, span->h) : adz_mul_number(passed, 1 / span->length);
    *y = theta != NULL ? adzi_ode_dense(move, theta, 0) : NULL;
    return *y != NULL ? value_of(ode, t, *y) : NULL;
}

/* How fast g rises at the event; not differentiated. */
static double rise(const adzi_ode *ode, const adzi_ode_span *span, const adzi_ode_move *move)
{
    adz_tensor *t = adz_scalar(ode->event_at, (adz_dtype)ode->times->dtype), *y, *slope;
    const bool before = adz_set_grad_enabled(true);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = o.allow_unused = true;
    t = t != NULL ? adzi_equation_leaf(t) : NULL;
    adz_tensor *g = t != NULL ? recorded_value(ode, span, move, t, &y) : NULL;
    const bool good = g != NULL && adzi_requires_grad(g) &&
                      adz_autograd_grad(&g, NULL, 1, &t, 1, &o, &slope) == ADZ_OK;
    adz_set_grad_enabled(before);
    return good && !adzi_is_none(slope) ? adz_item(slope) : 0;
}

/* A chord step, t - g(t) / g', changes the time of the event by rounding errors only. But its
 * derivative is that of the event, and each further step makes one more order of derivatives right,
 * although g' is a constant. */
bool adzi_ode_at_event(
    const adzi_ode *ode, const adzi_ode_span *span, const adzi_ode_move *move, adz_tensor **found)
{
    const double slope = rise(ode, span, move);
    adz_tensor *t = adz_scalar(ode->event_at, (adz_dtype)ode->times->dtype), *y = NULL;
    if (adzi_pending() != ADZ_OK) {
        return false;
    }
    if (slope == 0 || !isfinite(slope)) {
        adzi_error(ode->e.op, ADZ_ERR_NUMERIC,
            "the event's function at t = %s changes with time at a rate of %s, so its time has no derivative; the rate must be finite and not 0",
            adzi_text_number(adzi_ode_time(ode, ode->event_at)), adzi_text_number(slope));
        return false;
    }
    for (int i = 0; i < 3 && t != NULL; ++i) {
        adz_tensor *g = recorded_value(ode, span, move, t, &y);
        t = g != NULL ? adz_sub(t, adz_div_number(g, slope)) : NULL;
    }
    found[0] = t != NULL ? adzi_ode_time_of(ode, t) : NULL;
    return found[0] != NULL && recorded_value(ode, span, move, t, &found[1]) != NULL;
}
