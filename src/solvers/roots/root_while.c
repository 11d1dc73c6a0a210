/* A search as a while loop, for plans and exports: Note [A search without the host].
 *
 * A step of a loop is one value of the function and the work on it. Newton's method has a loop, and
 * the search within a trust region another one, which makes no step if no row was given up. The
 * systems of Anderson's method grow with its first values, so each of these stands for itself,
 * behind a condition, and a loop follows for all others.
 *
 * In a plan the host looks at how the search has ended and records the error of an ordinary call.
 * In a file, the unknowns of what has not converged are NaN. */
#include <math.h>
#include <string.h>

#include "adze/loops.h"
#include "base/threads/marks.h"
#include "solvers/roots/root.h"

/* The carries: those of all methods, and behind them those of the trust region or the differences
 * of Anderson's method. */
enum { X, NORM, STEP, SCALE, GOOD, FAILED, WHY, COUNT, OTHERS, CARRIES = OTHERS + 32 };
enum { FIRST = OTHERS, Y, J, NEWTON, PREDICTED, REACH, TRUST_CARRIES };

typedef struct loop {
    adzi_root *r;
    const adzi_root_parts *parts;
    size_t n_carries;
    int begun; /* values of Anderson's method before this one, as far as they matter */
} loop;

/* ---- the carries ----------------------------------------------------------------------------- */

static adz_tensor *is_open(adz_tensor *good, adz_tensor *failed)
{
    adz_tensor *open = adz_logical_not(adz_logical_or(good, failed));
    return adz_any(open, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* Whether a row is left, and another value may be computed. A search within a trust region begins
 * with a value even if all rows that are left were not finite at x0. */
static adz_tensor *goes_on(adz_tensor *const *in, void *user)
{
    const loop *l = user;
    adz_tensor *open = is_open(in[GOOD], in[FAILED]);
    open = l->parts == &adzi_root_by_trust ? adz_logical_or(open, in[FIRST]) : open;
    return adz_logical_and(open, adz_lt_number(in[COUNT], l->r->o.max_iterations));
}

static void take_state(adzi_root *r, adz_tensor *const *in)
{
    r->state =
        (adzi_root_state){ in[X], in[NORM], in[STEP], in[SCALE], in[GOOD], in[FAILED], in[WHY] };
}

static void give_state(const adzi_root *r, adz_tensor **out)
{
    const adzi_root_state *s = &r->state;
    adz_tensor *const all[] = { s->x, s->norm, s->step, s->scale, s->good, s->failed, s->why };
    memcpy(out, all, sizeof all);
}

static void take_others(const loop *l, adz_tensor *const *in)
{
    adzi_root *r = l->r;
    if (l->parts == &adzi_root_by_trust) {
        r->first = in[FIRST];
        r->trust = (adzi_trust){ in[Y], in[J], in[NEWTON], in[PREDICTED], in[REACH] };
    } else if (l->parts == &adzi_root_by_anderson) {
        const size_t most = adzi_root_history(r), n = l->begun > 0 ? (size_t)l->begun - 1 : 0;
        r->found.iterations = l->begun;
        r->n_differences = n < most ? n : most;
        memcpy(r->points, in + OTHERS, most * sizeof *in);
        memcpy(r->residuals, in + OTHERS + most, most * sizeof *in);
    }
}

static void give_others(const loop *l, adz_tensor **out)
{
    const adzi_root *r = l->r;
    if (l->parts == &adzi_root_by_trust) {
        const adzi_trust *t = &r->trust;
        adz_tensor *const all[] = { t->y, t->j, t->newton, t->predicted, t->reach };
        out[FIRST] = adz_scalar(0, ADZ_BOOL);
        memcpy(out + Y, all, sizeof all);
    } else if (l->parts == &adzi_root_by_anderson) {
        const size_t most = adzi_root_history(r);
        memcpy(out + OTHERS, r->points, most * sizeof *out);
        memcpy(out + OTHERS + most, r->residuals, most * sizeof *out);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static adz_status one_value(adz_tensor **out, adz_tensor *const *in, void *user)
{
    const loop *l = user;
    adzi_root *r = l->r;
    take_state(r, in);
    take_others(l, in);
    r->more = adz_lt_number(in[COUNT], r->o.max_iterations - 1);
    if (r->more == NULL || !l->parts->value(r)) {
        return adzi_status(NULL);
    }
    give_state(r, out);
    give_others(l, out);
    out[COUNT] = adz_add_number(in[COUNT], 1);
    return out[COUNT] != NULL ? ADZ_OK : adzi_status(NULL);
}

/* Computes values, at most so many, while a row is left. */
static bool go(loop *l, adz_tensor **carries, int most)
{
    adz_tensor *results[CARRIES];
    if (adz_while(goes_on, one_value, l, carries, l->n_carries, most, results, NULL, NULL) !=
        ADZ_OK) {
        return false;
    }
    memcpy(carries, results, l->n_carries * sizeof *carries);
    return true;
}

static bool are_there(adz_tensor *const *list, size_t n)
{
    bool good = true;
    for (size_t k = 0; k < n && good; ++k) {
        good = list[k] != NULL;
    }
    return good;
}

static bool begin(const loop *l, adz_tensor **carries)
{
    adzi_root *r = l->r;
    if (!l->parts->begin(r)) {
        return false;
    }
    r->state.why = adz_scalar(ADZ_ROOT_NOT_FINITE, ADZ_I64);
    give_state(r, carries);
    carries[COUNT] = adz_scalar(0, ADZ_I64);
    return are_there(carries, OTHERS);
}

/* Rows that were given up go on if there are any, none is open, and a value may be computed. */
static bool begin_trust(const loop *l, adz_tensor **carries)
{
    adzi_root *r = l->r;
    adz_tensor *count = carries[COUNT], *why = carries[WHY], *before = carries[FAILED];
    adz_tensor *open = is_open(carries[GOOD], before);
    adz_tensor *left = adz_any(adz_logical_not(carries[GOOD]), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *runs = adz_logical_and(adz_lt_number(count, r->o.max_iterations),
        adz_logical_and(adz_logical_not(open), adz_ne_number(why, ADZ_ROOT_NOT_FINITE)));
    runs = adz_logical_and(runs, left);
    take_state(r, carries);
    if (runs == NULL || !l->parts->begin(r)) {
        return false;
    }
    adzi_root_state *s = &r->state;
    const int64_t rows = s->x->sizes[0], n = s->x->sizes[1];
    before = adz_reshape(before, adz_tensor_shape(s->norm));
    s->failed = adz_where(runs, s->failed, before);
    s->why = adz_where(runs, adz_scalar(ADZ_ROOT_STALLED, ADZ_I64), why);
    s->scale = adz_zeros_like(s->norm);
    give_state(r, carries);
    carries[COUNT] = count;
    carries[FIRST] = runs;
    carries[Y] = carries[NEWTON] = adz_zeros_like(s->x);
    carries[J] = adz_zeros(ADZ_SHAPE(rows, n, n), (adz_dtype)s->x->dtype);
    carries[PREDICTED] = carries[REACH] = s->scale;
    return are_there(carries, TRUST_CARRIES);
}

static bool by_newton(adzi_root *r, adz_tensor **carries)
{
    loop l = { .r = r, .parts = &adzi_root_by_newton, .n_carries = OTHERS };
    if (!begin(&l, carries) || !go(&l, carries, r->o.max_iterations)) {
        return false;
    }
    l.parts = &adzi_root_by_trust;
    l.n_carries = TRUST_CARRIES;
    return begin_trust(&l, carries) && go(&l, carries, r->o.max_iterations);
}

static bool by_anderson(adzi_root *r, adz_tensor **carries)
{
    const int most = r->o.max_iterations, history = (int)adzi_root_history(r);
    loop l = { .r = r, .parts = &adzi_root_by_anderson, .n_carries = OTHERS + 2 * (size_t)history };
    if (!begin(&l, carries)) {
        return false;
    }
    adz_tensor *none = adz_zeros_like(r->state.x);
    for (size_t k = OTHERS; k < l.n_carries; ++k) {
        carries[k] = none;
    }
    bool good = none != NULL;
    for (; l.begun <= history && l.begun < most && good; ++l.begun) {
        good = go(&l, carries, 1);
    }
    return good && (l.begun == most || go(&l, carries, most - l.begun));
}

/* ---- the end --------------------------------------------------------------------------------- */

typedef struct end_args {
    const char *op;
    adz_shape shape;
    double tolerance;
    bool anderson;
    const char *count, *left, *open, *residual, *why;
} end_args;

ADZI_ADDRESSES(end_args, op, count, left, open, residual, why);

static int64_t integer_at(const char *at)
{
    return *(const int64_t *)(const void *)at;
}

static adz_root_report read_end(const end_args *args)
{
    const int64_t count = integer_at(args->count), left = integer_at(args->left);
    const adz_root_reason why = !args->anderson ? (adz_root_reason)integer_at(args->why)
                                : count == 1    ? ADZ_ROOT_NOT_FINITE
                                                : ADZ_ROOT_STALLED;
    return (adz_root_report){ (int)count, *(const double *)(const void *)args->residual, left,
        left == 0                   ? ADZ_ROOT_CONVERGED
        : *(const char *)args->open ? ADZ_ROOT_ITERATIONS
                                    : why };
}

static adz_status report_end(const void *block)
{
    const end_args *args = block;
    const adz_root_report found = read_end(args);
    return found.reason == ADZ_ROOT_CONVERGED
               ? ADZ_OK
               : adzi_root_fail(args->op, &found, args->shape, args->tolerance);
}

/* Looks at how the search has ended, also in each replay. */
static bool check_end(adzi_root *r, adz_tensor *const *c)
{
    adz_tensor *left =
        adz_sum(adz_to(adz_logical_not(c[GOOD]), ADZ_I64), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *open = is_open(c[GOOD], c[FAILED]), *residual = adz_to(adz_max(c[NORM]), ADZ_F64);
    if (left == NULL || open == NULL || residual == NULL) {
        return false;
    }
    const end_args args = { r->e.op, r->shape, r->o.tolerance, r->o.method == ADZ_ROOT_ANDERSON,
        c[COUNT]->data, left->data, open->data, residual->data, c[WHY]->data };
    const bool skipped = adzi_capture_skips(true);
    adzi_capture_skips(skipped);
    r->found = (adz_root_report){ 0, NAN, -1, ADZ_ROOT_UNCHECKED };
    if (!skipped) {
        r->found = read_end(&args);
    }
    return r->o.accept_unconverged || adzi_repeat(report_end, end_args, &args) == ADZ_OK;
}

bool adzi_root_while(adzi_root *r)
{
    adz_tensor *carries[CARRIES];
    const bool traced = adzi_self()->tracer != NULL;
    const bool good =
        r->o.method == ADZ_ROOT_ANDERSON ? by_anderson(r, carries) : by_newton(r, carries);
    if (!good || (!traced && !check_end(r, carries))) {
        return false;
    }
    adz_tensor *x = carries[X];
    if (traced) {
        r->found = (adz_root_report){ 0, NAN, -1, ADZ_ROOT_UNCHECKED };
    }
    if (traced && !r->o.accept_unconverged) {
        x = adz_where(carries[GOOD], x, adz_scalar(NAN, (adz_dtype)x->dtype));
    }
    r->state.x = x != NULL ? adz_reshape(x, r->shape) : NULL;
    return r->state.x != NULL;
}
