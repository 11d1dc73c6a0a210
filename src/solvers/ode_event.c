/* One event: where a function of time and state changes its sign within a step. */
#include <math.h>
#include <stdio.h>

#include "solvers/ode.h"
#include "solvers/ode_run.h"

enum { MOST_HALVINGS = 80 };

/* Note [Events by RK4]
 *
 * An event lies within a step. Where a method has a dense output, that is where the event is looked
 * for. ADZ_ODE_RK4 has none, so its step is repeated from the begin, shorter, until it ends at the
 * event.
 *
 * A cubic through the states and the slopes at both ends would take fewer calls of the function.
 * Its error is O(h^4), so the time of the event would keep order 4. But the derivatives would not:
 * the part of the step at which the event lies moves with the parameters by O(1 / h), so each
 * derivative of that error loses one power of h. A shorter step is a step of the method whatever
 * its length. So the time of the event, the state there and all their derivatives keep order 4, and
 * the state is the one from which the program would go on. What is differentiated is the shorter
 * step, whose length is one more variable. */

static bool repeats(const adzi_ode_move *move)
{
    return move->order == 0 && move->weight == NULL;
}

/* The state after a step that has the length h instead. */
static adz_tensor *repeat(
    const adzi_ode *ode, const adzi_ode_span *span, const adzi_ode_move *move, adz_tensor *h)
{
    adzi_ode_span shorter = *span;
    adzi_ode_move again = { .first = move->first };
    shorter.h = h;
    return h != NULL && adzi_ode_step(ode, &shorter, move->y0, &again) ? again.y1 : NULL;
}

/* What messages call event `i`, which may be the only one. */
typedef struct event_name {
    char text[40];
} event_name;

static event_name name_of(const adzi_ode *ode, int i)
{
    event_name name = { "the event's function" };
    if (ode->n_events > 1) {
        snprintf(name.text, sizeof name.text, "the function of event %d", i);
    }
    return name;
}

static bool check_value(const adzi_ode *ode, int i, double t, double value)
{
    if (isnan(value)) {
        adzi_error(ode->e.op, ADZ_ERR_NUMERIC,
            "%s is NaN at t = %s; it must be a number on both sides of the event. Write it without roots and logarithms of what changes its sign, or set max_step",
            name_of(ode, i).text, adzi_text_number(adzi_ode_time(ode, t)));
        return false;
    }
    return true;
}

/* g(t, y) of event `i`. */
static adz_tensor *value_of(const adzi_ode *ode, int i, adz_tensor *t, adz_tensor *y)
{
    adz_tensor *variables[] = { t != NULL ? adzi_ode_time_of(ode, t) : NULL, y };
    adzi_equation event = ode->e;
    event.map = NULL;
    event.ode = NULL;
    event.function = ode->events[i].function;
    adz_tensor *g =
        variables[0] != NULL && y != NULL ? adzi_equation_number(&event, variables, 2) : NULL;
    return adzi_ode_heard(ode, &event, variables, g);
}

/* The value of an event's function at a time, as a number. NaN is an error. */
static bool event_value(const adzi_ode *ode, int i, double t, adz_tensor *y, double *value)
{
    adz_tensor *g = value_of(ode, i, adz_scalar(t, (adz_dtype)ode->times->dtype), y);
    *value = g != NULL ? adz_item(g) : NAN;
    return g != NULL && check_value(ode, i, t, *value);
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

/* g at a time and a state, and its derivatives by them, each ADZ_NONE if g does not depend on it.
 */
static bool derivatives(
    const adzi_ode *ode, int i, double t, adz_tensor *y, double *value, adz_tensor **slopes)
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
    adz_tensor *g = value_of(ode, i, leaves[0], leaves[1]);
    const bool good = g != NULL && (!adzi_requires_grad(g) || adz_autograd_grad(&g, NULL, 1, leaves,
                                                                  2, &o, slopes) == ADZ_OK);
    adz_set_grad_enabled(before);
    *value = g != NULL ? adz_item(g) : NAN;
    return good && check_value(ode, i, t, *value);
}

/* How fast g changes along the solution, whose slope is f. */
static double rate_of(adz_tensor *const *slopes, adz_tensor *f)
{
    return dot(slopes[1], f, false) + (adzi_is_none(slopes[0]) ? 0 : adz_item(slopes[0]));
}

/* The sign of event `i` right after the first time. */
static bool find_sign(const adzi_ode_run *run, int i, double reach, double *sign)
{
    adz_tensor *y = run->y, *f = run->first;
    double value;
    adz_tensor *slopes[2];
    if (!derivatives(run->ode, i, run->t, y, &value, slopes)) {
        return false;
    }
    const double by_time = adzi_is_none(slopes[0]) ? 0 : adz_item(slopes[0]);
    const double part = 8 * adzi_ode_eps(y);
    const double rounding = part * dot(slopes[1], adz_abs(y), true) +
                            part * reach * (dot(slopes[1], adz_abs(f), true) + fabs(by_time));
    const double rate = rate_of(slopes, f);
    /* Slopes that are not finite say nothing. */
    *sign = sign_of(fabs(value) <= rounding && isfinite(rounding) ? rate : value);
    return adzi_pending() == ADZ_OK;
}

bool adzi_ode_events_begin(adzi_ode_run *run, double reach)
{
    for (size_t i = 0; i < run->ode->n_events; ++i) {
        if (!find_sign(run, (int)i, reach, &run->signs[i])) {
            return false;
        }
    }
    return true;
}

/* ---- a step ---------------------------------------------------------------------------------- */

bool adzi_ode_event_within(
    const adzi_ode *ode, int i, const adzi_ode_move *move, double *sign, bool *found)
{
    double value;
    if (!event_value(ode, i, ode->ends[ode->n_steps], move->y1, &value)) {
        return false;
    }
    const double begin = *sign, end = sign_of(value), wanted = ode->events[i].direction;
    *found = begin != 0 && begin != end && (wanted == 0 || wanted == -begin);
    *sign = end;
    return true;
}

/* The Illinois variant of regula falsi. Of two new points on one side, the second one halves the
 * value on the other side. */
bool adzi_ode_locate(const adzi_ode *ode, int event, const adzi_ode_span *span,
    const adzi_ode_move *move, double begin, double sign, double *at)
{
    const double end = ode->ends[ode->n_steps], h = end - begin;
    double low = 0, high = 1, at_low, at_high, value;
    int side = 0;
    if (!event_value(ode, event, end, move->y1, &at_high) ||
        !event_value(ode, event, begin, move->y0, &at_low)) {
        return false;
    }
    /* The begin may be an event that does not count. */
    at_low = at_low * sign > 0 ? at_low : -at_high;
    for (int i = 0; i < MOST_HALVINGS && high - low > 1e-16 && at_high != 0; ++i) {
        double part = low + (high - low) * at_low / (at_low - at_high);
        part = part > low && part < high && i < MOST_HALVINGS / 2 ? part : (low + high) / 2;
        adz_tensor *y = repeats(move) ? repeat(ode, span, move, adz_mul_number(span->h, part))
                                      : adzi_ode_dense(move, NULL, part);
        if (!event_value(ode, event, begin + part * h, y, &value)) {
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
    *at = high < 1 ? begin + high * h : end;
    return true;
}

/* ---- a hit as an expression ------------------------------------------------------------------ */

/* What a hit is computed from. */
typedef struct origin {
    const adzi_ode *ode;
    const adzi_ode_hit *hit;
    const adzi_ode_span *span;
    const adzi_ode_move *move;
} origin;

static adz_tensor *state_at(const origin *p, adz_tensor *t)
{
    const adzi_ode_span *span = p->span;
    adz_tensor *passed = adz_sub(t, span->t);
    if (repeats(p->move)) {
        return repeat(p->ode, span, p->move, passed);
    }
    adz_tensor *theta =
        span->h != NULL ? adz_div(passed, span->h) : adz_mul_number(passed, 1 / span->length);
    return theta != NULL ? adzi_ode_dense(p->move, theta, 0) : NULL;
}

/* g at time `t`, and the state then. */
static adz_tensor *recorded_value(const origin *p, adz_tensor *t, adz_tensor **y)
{
    *y = state_at(p, t);
    return *y != NULL ? value_of(p->ode, p->hit->event, t, *y) : NULL;
}

/* How fast g rises at the hit, by the equation. It differentiates the event's function only. */
static double rise_by_slope(const origin *p)
{
    adz_tensor *t = adz_scalar(p->hit->at, (adz_dtype)p->ode->times->dtype), *slopes[2];
    adz_tensor *y = t != NULL ? state_at(p, t) : NULL;
    adz_tensor *f = y != NULL ? adzi_ode_slope(p->ode, t, y) : NULL;
    double value;
    return f != NULL && derivatives(p->ode, p->hit->event, p->hit->at, y, &value, slopes)
               ? rate_of(slopes, f)
               : 0;
}

/* How fast g rises at the hit; not differentiated. */
static double rise(const origin *p)
{
    adz_tensor *t = adz_scalar(p->hit->at, (adz_dtype)p->ode->times->dtype), *y, *slope;
    const bool before = adz_set_grad_enabled(true);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = o.allow_unused = true;
    t = t != NULL ? adzi_equation_leaf(t) : NULL;
    adz_tensor *g = t != NULL ? recorded_value(p, t, &y) : NULL;
    const bool good = g != NULL && adzi_requires_grad(g) &&
                      adz_autograd_grad(&g, NULL, 1, &t, 1, &o, &slope) == ADZ_OK;
    adz_set_grad_enabled(before);
    return good && !adzi_is_none(slope) ? adz_item(slope) : 0;
}

/* A chord step, t - g(t) / g', changes the time of the hit by rounding errors only. But its
 * derivative is that of the event, and each further step makes one more order of derivatives right,
 * although g' is a constant. */
bool adzi_ode_at_hit(const adzi_ode *ode, const adzi_ode_hit *hit, const adzi_ode_span *span,
    const adzi_ode_move *move, adz_tensor **found)
{
    const origin p = { ode, hit, span, move };
    /* A first run only polishes the time, so a function without derivatives will do. */
    const double slope = repeats(move) && ode->counts != NULL ? rise_by_slope(&p) : rise(&p);
    adz_tensor *t = adz_scalar(hit->at, (adz_dtype)ode->times->dtype), *y = NULL;
    if (adzi_pending() != ADZ_OK) {
        return false;
    }
    if (slope == 0 || !isfinite(slope)) {
        adzi_error(ode->e.op, ADZ_ERR_NUMERIC,
            "%s at t = %s changes with time at a rate of %s, so its time has no derivative; the rate must be finite and not 0",
            name_of(ode, hit->event).text, adzi_text_number(adzi_ode_time(ode, hit->at)),
            adzi_text_number(slope));
        return false;
    }
    for (int i = 0; i < 3 && t != NULL; ++i) {
        adz_tensor *g = recorded_value(&p, t, &y);
        t = g != NULL ? adz_sub(t, adz_div_number(g, slope)) : NULL;
    }
    found[0] = t != NULL ? adzi_ode_time_of(ode, t) : NULL;
    return found[0] != NULL && recorded_value(&p, t, &found[1]) != NULL;
}
