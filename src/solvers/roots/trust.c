/* Powell's dogleg method, for rows that the line search of Newton's method has given up.
 *
 * A step is the best one, for the linear model of the function, on a path of two parts within a
 * region: from the point along the steepest descent of the squared residual to the model's minimum
 * on that line, and from there to Newton's point. The region shrinks where the model is wrong.
 *
 * The residual is measured by its largest element, and unknown j by the largest element of column j
 * of the Jacobian. So the sums of squares neither overflow nor depend on the scale of a variable or
 * of the function. state.x and state.step are [R, n, 1] here, the other tensors of the state are
 * [R, 1, 1]; state.scale is the radius, in units of the residual. */
#include <math.h>

#include "solvers/roots/root.h"

/* The first radius as a part of the length of x. */
#define FIRST_RADIUS 0.1
/* The residual's square has to shrink by this part of what the model says. */
#define ACCEPTED 1e-4
/* Below this part the region shrinks, and above the other it grows. */
#define WRONG 0.1
#define RIGHT 0.75

static adz_tensor *largest(adz_tensor *v)
{
    return adz_amax(adz_abs(v), ADZ_DIMS(1), ADZ_KEEPDIM);
}

static adz_tensor *sum_of(adz_tensor *a, adz_tensor *b)
{
    return adz_sum(adz_mul(a, b), ADZ_DIMS(1), ADZ_KEEPDIM);
}

/* v, with 1 where v is not above 0. */
static adz_tensor *divisor(adz_tensor *v)
{
    return adz_where(adz_gt_number(v, 0), v, adz_ones_like(v));
}

static adz_tensor *length_of(adz_tensor *v)
{
    adz_tensor *size = largest(v), *unit = adz_div(v, divisor(size));
    return adz_mul(size, adz_sqrt(sum_of(unit, unit)));
}

/* Rows, and all rows at the first value of the function in a while loop. */
static adz_tensor *or_first(const adzi_root *r, adz_tensor *rows)
{
    return r->looped ? adz_logical_or(rows, r->first) : rows;
}

/* Rows, and none after the last value of the function in a while loop. */
static adz_tensor *if_more(const adzi_root *r, adz_tensor *rows)
{
    return r->looped ? adz_logical_and(rows, r->more) : rows;
}

/* Which rows take the point with the residual y, and what this does to the radius. */
static adz_tensor *accept(adzi_root *r, adzi_root_state *s, adz_tensor *y, adz_tensor *norm)
{
    const adzi_trust *t = &r->trust;
    adz_tensor *open = adz_logical_not(adz_logical_or(s->good, s->failed));
    open = adz_logical_and(open, adz_isfinite(norm));
    if (t->y == NULL) {
        return open;
    }
    adz_tensor *unit = divisor(s->norm);
    adz_tensor *before = adz_div(t->y, unit), *now = adz_div(y, unit);
    adz_tensor *ratio =
        adz_div(adz_sub(sum_of(before, before), sum_of(now, now)), divisor(t->predicted));
    adz_tensor *smaller = adz_mul_number(adz_minimum(s->scale, t->reach), 0.5);
    adz_tensor *larger = adz_maximum(s->scale, adz_mul_number(t->reach, 2));
    adz_tensor *radius = adz_where(adz_gt_number(ratio, RIGHT), larger, s->scale);
    s->scale = adz_where(adz_ge_number(ratio, WRONG), radius, smaller);
    return adz_logical_and(open, or_first(r, adz_ge_number(ratio, ACCEPTED)));
}

/* Notes that the search has seen a singular Jacobian, if a row has one. */
static bool blame(adzi_root *r, adzi_root_state *s, adz_tensor *rows)
{
    adz_tensor *any = adz_any(rows, ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (any == NULL) {
        return false;
    }
    if (r->looped) {
        s->why = adz_where(any, adz_scalar(ADZ_ROOT_SINGULAR, ADZ_I64), s->why);
        return s->why != NULL;
    }
    r->failure = adz_item(any) != 0 ? ADZ_ROOT_SINGULAR : r->failure;
    return true;
}

/* The Jacobian and Newton's step at the points that were taken. */
static bool linearise(adzi_root *r, adzi_root_state *s, adz_tensor *accepted)
{
    adzi_trust *t = &r->trust;
    adz_tensor *j = adzi_root_jacobian(&r->f, r->by_rows);
    if (j == NULL) {
        return false;
    }
    adz_tensor *finite = adz_all(adz_isfinite(j), ADZ_DIMS(1, 2), ADZ_KEEPDIM);
    adz_tensor *infinite = if_more(r, adz_logical_and(accepted, adz_logical_not(finite)));
    j = adz_where(finite, j, adz_zeros_like(j));
    s->failed = adz_logical_or(s->failed, infinite);
    t->j = t->j == NULL ? j : adz_where(or_first(r, accepted), j, t->j);
    adz_tensor *down = adz_neg(t->y);
    if (t->j == NULL || down == NULL || !blame(r, s, infinite)) {
        return false;
    }
    t->newton = adzi_root_solve(t->j, down);
    if (s->scale == NULL || r->looped) {
        adz_tensor *columns = adz_transpose(adz_amax(adz_abs(j), ADZ_DIMS(1), ADZ_KEEPDIM), 1, 2);
        adz_tensor *size = length_of(adz_mul(divisor(columns), s->x));
        adz_tensor *radius =
            adz_where(adz_gt_number(size, 0), adz_mul_number(size, FIRST_RADIUS), divisor(s->norm));
        s->scale = s->scale == NULL ? radius : adz_where(r->first, radius, s->scale);
    }
    return t->newton != NULL && s->scale != NULL;
}

/* The point of the path at the border of a region of this radius, or Newton's point within it.
 * `cauchy` is the minimum along the steepest descent. */
static adz_tensor *dogleg(adz_tensor *cauchy, adz_tensor *newton, adz_tensor *radius)
{
    adz_tensor *finite = adz_all(adz_isfinite(newton), ADZ_DIMS(1), ADZ_KEEPDIM);
    adz_tensor *end = adz_where(finite, newton, cauchy);
    adz_tensor *inside = adz_logical_and(finite, adz_le(length_of(end), radius));
    adz_tensor *near = length_of(cauchy);
    adz_tensor *shorter = adz_mul(cauchy, adz_div(radius, divisor(near)));
    adz_tensor *along = adz_sub(end, cauchy),
               *direction = adz_div(along, divisor(length_of(along)));
    adz_tensor *from = adz_div(cauchy, radius), *part = sum_of(from, direction);
    adz_tensor *rest = adz_number_sub(1, sum_of(from, from));
    adz_tensor *far = adz_sub(adz_sqrt(adz_add(adz_square(part), rest)), part);
    adz_tensor *border = adz_mul(radius, adz_add(from, adz_mul(direction, far)));
    adz_tensor *straight = adz_logical_or(adz_logical_not(finite), adz_ge(near, radius));
    adz_tensor *short_of = adz_where(adz_ge(near, radius), shorter, cauchy);
    return adz_where(inside, end, adz_where(straight, short_of, border));
}

/* The next step. Rows whose direction of descent is 0 are given up: their Jacobian is singular.
 * *stuck says which rows have a step that is shorter than the rounding errors of their x. */
static bool find_step(adzi_root *r, adzi_root_state *s, adz_tensor **stuck)
{
    adzi_trust *t = &r->trust;
    adz_tensor *columns = adz_amax(adz_abs(t->j), ADZ_DIMS(1), ADZ_KEEPDIM);
    adz_tensor *d = divisor(adz_transpose(columns, 1, 2)); /* [R, n, 1] */
    adz_tensor *unit = divisor(s->norm), *f = adz_div(t->y, unit);
    adz_tensor *j = adz_div(t->j, divisor(columns));
    adz_tensor *down = adz_neg(adz_matmul(adz_transpose(j, 1, 2), f)), *size = largest(down);
    adz_tensor *flat = adz_le_number(size, 4 * adzi_root_rounding(s->x));
    adz_tensor *open = adz_logical_not(adz_logical_or(s->good, s->failed));
    flat = if_more(r, adz_logical_and(flat, open));
    if (!blame(r, s, flat)) {
        return false;
    }
    s->failed = adz_logical_or(s->failed, flat);
    adz_tensor *direction = adz_div(down, divisor(size)), *change = adz_matmul(j, direction);
    adz_tensor *far =
        adz_div(adz_mul(size, sum_of(direction, direction)), divisor(sum_of(change, change)));
    adz_tensor *newton = adz_div(adz_mul(t->newton, d), unit);
    adz_tensor *p = dogleg(adz_mul(direction, far), newton, adz_div(s->scale, unit));
    adz_tensor *after = adz_add(f, adz_matmul(j, p));
    t->predicted = adz_sub(sum_of(f, f), sum_of(after, after));
    t->reach = adz_mul(length_of(p), unit);
    s->step = adz_div(adz_mul(p, unit), d);
    *stuck =
        adz_le(t->reach, adz_mul_number(length_of(adz_mul(d, s->x)), adzi_root_rounding(s->x)));
    return *stuck != NULL && s->step != NULL && t->predicted != NULL && t->reach != NULL;
}

/* Ends rows whose step is a matter of rounding, and holds those that have ended. */
static bool settle(adzi_root *r, adzi_root_state *s, adz_tensor *accepted, adz_tensor *stuck)
{
    const adzi_trust *t = &r->trust;
    const double eps = adzi_root_rounding(s->x);
    adz_tensor *size = largest(s->x), *length = largest(s->step);
    adz_tensor *tiny = adz_le(length,
        adz_where(accepted, adz_mul_number(size, 4 * eps), adz_mul_number(size, 1024 * eps)));
    adz_tensor *sums = adz_matmul(adz_abs(t->j), adz_abs(s->x));
    adz_tensor *allowed = adz_mul_number(sums, 1024 * eps);
    adz_tensor *small = adz_logical_and(adz_le(adz_abs(t->y), allowed), adz_isfinite(allowed));
    small = if_more(r, adz_logical_and(tiny, adz_all(small, ADZ_DIMS(1), ADZ_KEEPDIM)));
    stuck = if_more(r, adz_logical_or(stuck, adz_logical_not(adz_isfinite(length))));
    s->good = adz_logical_or(s->good, adz_logical_and(small, adz_logical_not(s->failed)));
    s->failed = adz_logical_or(s->failed, adz_logical_and(stuck, adz_logical_not(s->good)));
    adz_tensor *done = adz_logical_or(s->good, s->failed);
    s->step = adz_where(done, adz_zeros_like(s->step), s->step);
    return s->step != NULL;
}

/* One more point: the Jacobian is computed if a row takes it. */
static bool go_on(adzi_root *r, adzi_root_state *s, adz_tensor *accepted)
{
    adz_tensor *any = r->looped ? NULL : adz_any(accepted, ADZ_ALL_DIMS, ADZ_DROPDIM), *stuck;
    const bool linear = r->looped || (any != NULL && adz_item(any) != 0);
    if ((!r->looped && any == NULL) || (linear && !linearise(r, s, accepted))) {
        return false;
    }
    return find_step(r, s, &stuck) && settle(r, s, accepted, stuck) && adzi_root_check_rows(r, s);
}

static bool work(adzi_functional *f)
{
    adzi_root *r = (adzi_root *)f;
    adzi_root_state s = r->state;
    adzi_trust *t = &r->trust;
    const adz_shape shape = adz_shape_of(s.x->rank, s.x->sizes);
    adz_tensor *y = adz_reshape(adz_detach(f->values[0]), shape);
    adz_tensor *at = adz_reshape(adz_detach(f->x[0]), shape), *norm = largest(y);
    adz_tensor *accepted = norm != NULL ? accept(r, &s, y, norm) : NULL;
    if (accepted == NULL) {
        return false;
    }
    s.x = adz_where(accepted, at, s.x);
    s.norm = adz_where(accepted, norm, s.norm);
    s.good = adz_logical_or(s.good, adz_le_number(s.norm, r->o.tolerance));
    t->y = t->y == NULL ? y : adz_where(or_first(r, accepted), y, t->y);
    if (s.x == NULL || s.good == NULL || t->y == NULL || !adzi_root_check_rows(r, &s) ||
        (!r->over && !r->last && !go_on(r, &s, accepted)) || !adzi_root_note_leaves(r)) {
        return false;
    }
    s.scale = s.scale != NULL ? s.scale : s.norm; /* the search ends before a step */
    if (!adzi_root_keep(f, &s)) {
        return false;
    }
    adz_tensor *const more[ADZI_ROOT_TRUST] = { t->y, t->j, t->newton, t->predicted, t->reach };
    for (size_t i = 0; i < ADZI_ROOT_TRUST; ++i) {
        if (more[i] != NULL) {
            f->found[f->n_found++] = more[i];
        }
    }
    return true;
}

/* The state as [R, n, 1] and [R, 1, 1]. Rows where the function is not finite stay given up. */
static bool begin(adzi_root *r)
{
    adzi_root_state *s = &r->state;
    const int64_t rows = r->by_rows ? s->x->sizes[0] : 1;
    const adz_shape one = ADZ_SHAPE(rows, 1, 1);
    s->x = adz_reshape(s->x, ADZ_SHAPE(rows, s->x->numel / rows, 1));
    s->norm = adz_reshape(s->norm, one);
    s->good = adz_reshape(s->good, one);
    s->failed = adz_logical_not(adz_isfinite(s->norm));
    s->step = adz_zeros_like(s->x);
    s->scale = NULL;
    r->trust = (adzi_trust){ .y = NULL };
    r->failure = ADZ_ROOT_STALLED;
    r->over = r->last = false;
    return s->good != NULL && s->failed != NULL && s->step != NULL;
}

static bool value(adzi_root *r)
{
    adz_tensor *x = adz_add(r->state.x, r->state.step);
    x = x != NULL ? adz_reshape(x, r->shape) : NULL;
    return x != NULL && adzi_root_evaluate(r, x, work);
}

const adzi_root_parts adzi_root_by_trust = { begin, value };

bool adzi_root_trust(adzi_root *r)
{
    if (!begin(r) || !adzi_root_values(r, &adzi_root_by_trust)) {
        return false;
    }
    r->state.x = adz_reshape(r->state.x, r->shape);
    return r->state.x != NULL;
}
