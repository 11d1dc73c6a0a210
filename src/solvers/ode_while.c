/* Steps with error control as a while loop, for plans and exports.
 *
 * A step is tried by the formulas of other runs (ode_step.c), and tensors choose the next one by
 * the formulas of ode_adapt.c in their order. So in a plan the solution has the bits of an ordinary
 * call. The states at several times are results of a scan over the times, whose body has the loop.
 *
 * The numbers of the controller are scalars of f64, and of the state's dtype in a file, whose
 * precision may be that of f32. A loop that cannot go on ends: in a plan the
 * host then records the error of an ordinary call, and in a file the states after it are NaN. */
#include <math.h>
#include <string.h>

#include "adze/loops.h"
#include "base/door.h"
#include "base/threads/marks.h"
#include "solvers/ode_control.h"
#include "solvers/ode_run.h"
#include "solvers/ode_while_gradient.h"

/* The carries. ADZ_ODE_RODAS4 has those before SLOPE. Those from FROM on are of the step that was
 * tried last, for states between its ends. */
enum { Y, T, H, TRIED, ACCEPTED, SLOPE, FROM, LENGTH, Y0, STAGES, CARRIES = STAGES + 7 };

static adz_status status_of(const void *last)
{
    return last != NULL ? ADZ_OK : adzi_status(NULL);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The step that will be tried, if it does not end before. */
static adz_tensor *limited(const adzi_ode_loop *a, adz_tensor *h)
{
    const double most = a->ode->o.max_step;
    return most > 0 ? adz_clamp(h, -INFINITY, most) : h;
}

/* Whether the target is ahead, and another step may be tried. */
static adz_tensor *goes_on(adz_tensor *const *in, void *user)
{
    const adzi_ode_loop *a = user;
    adz_tensor *h = limited(a, in[H]);
    adz_tensor *good =
        adz_logical_or(adz_gt(h, adzi_ode_least(a, in[T])), adz_ge(adz_add(in[T], h), a->stop));
    adz_tensor *ahead = adz_logical_and(
        adz_lt(in[T], a->target), adz_lt_number(in[TRIED], (double)a->ode->o.max_steps));
    return adz_logical_and(ahead, good);
}

/* Where a step ends, and whether that is at the stop. */
static adz_tensor *end_of_step(
    const adzi_ode_loop *a, adz_tensor *t, adz_tensor *h, adz_tensor **stops)
{
    const double most = a->ode->o.max_step;
    adz_tensor *reach = adz_add(t, h);
    *stops = adz_ge(adz_add(t, adz_mul_number(h, ADZI_ODE_NEAR)), a->stop);
    if (most > 0) {
        *stops = adz_logical_and(*stops, adz_le_number(adz_sub(a->stop, t), most));
        *stops = adz_logical_or(*stops, adz_ge(reach, a->stop));
    }
    return adz_where(*stops, a->stop, reach);
}

/* Keeps what states between the ends of the step depend on. */
static void keep_step(const adzi_ode_loop *a, const adzi_ode_span *span, const adzi_ode_move *move,
    adz_tensor **results)
{
    results[FROM] = span->begin;
    results[LENGTH] = span->measure;
    results[Y0] = move->y0;
    for (int i = 0; i < a->n_dense; ++i) {
        results[STAGES + i] = move->k[a->columns[i]];
    }
}

static adz_status try_step(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const adzi_ode_loop *a = user;
    const bool carries_slope = a->n_carries > SLOPE;
    adz_tensor *h = limited(a, in[H]), *stops;
    adz_tensor *to = end_of_step(a, in[T], h, &stops), *length = adz_sub(to, in[T]);
    const adzi_ode_span span = {
        .t = adz_to(in[T], (adz_dtype)a->ode->like->dtype), .begin = in[T], .measure = length
    };
    adzi_ode_move move = { .first = carries_slope ? in[SLOPE] : NULL };
    if (span.t == NULL || length == NULL || !adzi_ode_step(a->ode, &span, in[Y], &move)) {
        return status_of(NULL);
    }
    const adzi_ode_row row = { in[Y], carries_slope ? in[SLOPE] : NULL, in[T], length, to };
    if (a->rows != NULL && !adzi_ode_rows_keep(a->rows, in[ACCEPTED], &row)) {
        return status_of(NULL);
    }
    adz_tensor *error = adzi_ode_size(a, move.error, in[Y], move.y1, false);
    adz_tensor *good = adz_le_number(error, 1), *next = adzi_ode_next_step(a, length, error);
    results[Y] = adz_where(good, move.y1, in[Y]);
    results[T] = adz_where(good, to, in[T]);
    results[H] = adz_where(adz_logical_and(good, stops), adz_maximum(next, h), next);
    results[TRIED] = adz_add_number(in[TRIED], 1);
    results[ACCEPTED] = adz_add(in[ACCEPTED], adz_to(good, ADZ_I64));
    if (carries_slope) {
        results[SLOPE] = adz_where(good, move.last, in[SLOPE]);
    }
    if (a->n_carries > FROM) {
        keep_step(a, &span, &move, results);
    }
    return status_of(results[H]);
}

/* Takes steps until the target is reached. The carries become those there. */
static bool reach(adzi_ode_loop *a, adz_tensor **carries)
{
    adz_tensor *results[CARRIES];
    if (adz_while(goes_on, try_step, a, carries, a->n_carries, a->ode->o.max_steps, results, NULL,
            NULL) != ADZ_OK) {
        return false;
    }
    memcpy(carries, results, a->n_carries * sizeof *carries);
    return true;
}

/* The state at the target; NaN if it was not reached, or in a file if times that turn put it before
 * the last step. */
static adz_tensor *state_of(const adzi_ode_loop *a, adz_tensor *const *c)
{
    adz_tensor *y = c[Y], *known = adz_ge(c[T], a->target);
    if (a->n_carries > FROM) {
        adz_tensor *part = adz_div(adz_sub(a->target, c[FROM]), c[LENGTH]);
        adz_tensor *rest = adz_number_sub(1, part), *w = a->dense[ADZI_ODE_DENSE - 1];
        for (int i = ADZI_ODE_DENSE - 2; i >= 0; --i) {
            w = adz_add(a->dense[i], adz_mul(w, i % 2 == 0 ? rest : part));
        }
        w = adz_mul(w, part);
        adz_tensor *between = w != NULL ? adzi_linear_combination_by(
                                              c[Y0], c[LENGTH], c + STAGES, NULL, w, a->n_dense)
                                        : NULL;
        y = adz_where(adz_eq(c[T], a->target), y, between);
        if (adzi_self()->tracer != NULL) { /* a plan has looked at the times */
            known = adz_logical_and(known, adz_le(c[FROM], a->target));
        }
    }
    adz_tensor *none = adz_scalar(NAN, (adz_dtype)a->ode->like->dtype);
    return adz_where(known, y, none);
}

/* The body of the scan over the times. */
static adz_status to_next_time(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adzi_ode_loop a = *(const adzi_ode_loop *)user;
    a.target = in[a.n_carries];
    a.stop = a.ode->o.method == ADZ_ODE_RODAS4 ? a.target : a.end;
    memcpy(results, in, a.n_carries * sizeof *results);
    if (!reach(&a, results)) {
        return status_of(NULL);
    }
    results[a.n_carries] = state_of(&a, results);
    return status_of(results[a.n_carries]);
}

/* ---- the begin ------------------------------------------------------------------------------- */

/* The times as numbers that increase, and their sign. */
static bool take_times(adzi_ode_loop *a)
{
    adzi_ode *ode = a->ode;
    adz_tensor *times = ode->times;
    adz_tensor *falls = adz_lt(adz_select(times, 0, 1), adz_select(times, 0, 0));
    ode->sign = adz_add_number(adz_mul_number(adz_to(falls, (adz_dtype)times->dtype), -2), 1);
    a->times =
        ode->sign != NULL ? adz_mul(adzi_ode_wide(a, times), adzi_ode_wide(a, ode->sign)) : NULL;
    a->end = adz_select(a->times, 0, ode->n_times - 1);
    return a->end != NULL;
}

static bool take_atols(adzi_ode_loop *a, const adz_tensor *y)
{
    const adz_ode_options *o = &a->ode->o;
    if (o->atols == NULL) {
        return true;
    }
    a->atols = adzi_ode_vector(a, o->atols, (int64_t)o->n_atols);
    if (a->dtype != ADZ_F64) {
        a->atols = adz_clamp(a->atols, adzi_ode_least_atol(a), INFINITY);
    }
    if (!o->rows) {
        a->atols = adz_reshape(a->atols, adz_tensor_shape(y));
    }
    return a->atols != NULL;
}

static bool take_dense(adzi_ode_loop *a)
{
    double weights[ADZI_ODE_DENSE][ADZI_COMBINATION_TERMS];
    if (a->n_carries <= FROM) {
        return true;
    }
    a->n_dense = adzi_ode_dense_terms(a->columns, weights);
    a->n_carries = STAGES + (size_t)a->n_dense;
    bool good = true;
    for (int c = 0; c < ADZI_ODE_DENSE && good; ++c) {
        a->dense[c] = adzi_ode_vector(a, weights[c], a->n_dense);
        good = a->dense[c] != NULL;
    }
    return good;
}

/* The carries before the first step. */
static bool begin(adzi_ode_loop *a, adz_tensor *y, adz_tensor **carries)
{
    adz_tensor *t = adz_mul(adz_select(a->ode->times, 0, 0), a->ode->sign);
    adz_tensor *f = t != NULL ? adzi_ode_slope(a->ode, t, y) : NULL;
    adz_tensor *h = f != NULL ? adzi_ode_first_step(a, t, y, f) : NULL;
    if (h == NULL) {
        return false;
    }
    carries[Y] = y;
    carries[T] = adz_select(a->times, 0, 0);
    carries[H] =
        adz_where(adz_logical_and(a->state_finite, a->slope_finite), h, adzi_ode_number(a, 0));
    carries[TRIED] = carries[ACCEPTED] = adz_scalar(0, ADZ_I64);
    carries[SLOPE] = f;
    carries[FROM] = carries[T];
    carries[LENGTH] = adzi_ode_number(a, 1);
    carries[Y0] = y;
    for (int i = 0; i < a->n_dense; ++i) {
        carries[STAGES + i] = f;
    }
    return carries[T] != NULL && carries[H] != NULL && carries[TRIED] != NULL &&
           carries[LENGTH] != NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

typedef struct end_args {
    const char *op;
    adz_ode_method method;
    adz_dtype dtype;
    adz_shape state;
    int64_t max_steps;
    double max_step;
    const char *t, *end, *sign, *y; /* sign and y are of `dtype` */
    const char *tried, *accepted, *state_finite, *slope_finite;
} end_args;

ADZI_ADDRESSES(end_args, op, t, end, sign, y, tried, accepted, state_finite, slope_finite);

static double element_of(const end_args *args, const char *from, int64_t i)
{
    return args->dtype == ADZ_F64 ? ((const double *)(const void *)from)[i]
                                  : (double)((const float *)(const void *)from)[i];
}

static adz_status report_end(const void *block)
{
    const end_args *args = block;
    const double t = *(const double *)(const void *)args->t;
    const double eps = args->dtype == ADZ_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    if (t >= *(const double *)(const void *)args->end) {
        return ADZ_OK;
    }
    adzi_ode_early at = { args->op, args->method, t * element_of(args, args->sign, 0),
        *(const int64_t *)(const void *)args->accepted, args->state, 0 };
    int64_t numel = 1;
    for (int d = 0; d < args->state.rank; ++d) {
        numel *= args->state.sizes[d];
    }
    for (int64_t i = 0; i < numel; ++i) {
        const double size = fabs(element_of(args, args->y, i));
        at.largest = size > at.largest || isnan(size) ? size : at.largest;
    }
    const bool limited = args->max_step > 0 && args->max_step <= adzi_ode_shortest(eps, t);
    return adzi_ode_fail(!*(const bool *)args->state_finite   ? ADZI_ODE_STATE_NOT_FINITE
                         : !*(const bool *)args->slope_finite ? ADZI_ODE_SLOPE_NOT_FINITE
                         : *(const int64_t *)(const void *)args->tried >= args->max_steps
                             ? ADZI_ODE_MAX_STEPS
                         : limited ? ADZI_ODE_MAX_STEP
                                   : ADZI_ODE_TOO_SHORT,
        &at);
}

/* Looks at how the loop has ended, also in each replay. */
static bool check_end(const adzi_ode_loop *a, adz_tensor *const *c)
{
    adzi_ode *ode = a->ode;
    const end_args args = { ode->e.op, ode->o.method, (adz_dtype)ode->like->dtype,
        adz_tensor_shape(c[Y]), ode->o.max_steps, ode->o.max_step, c[T]->data, a->end->data,
        ode->sign->data, c[Y]->data, c[TRIED]->data, c[ACCEPTED]->data, a->state_finite->data,
        a->slope_finite->data };
    const bool skipped = adzi_capture_skips(true);
    adzi_capture_skips(skipped);
    if (!skipped) {
        ode->report.steps = *(const int64_t *)(const void *)args.accepted;
        ode->report.rejected = *(const int64_t *)(const void *)args.tried - ode->report.steps;
        ode->report.time = *(const double *)(const void *)args.t * element_of(&args, args.sign, 0);
    }
    return adzi_repeat(report_end, end_args, &args) == ADZ_OK;
}

/* ---- the solution ---------------------------------------------------------------------------- */

bool adzi_ode_may_while(const adzi_ode *ode)
{
    const adzi_thread *thread = adzi_self();
    return !ode->fixed && (thread->tracer != NULL || adzi_capture_of(thread) != NULL);
}

typedef struct solution {
    adzi_ode *ode;
    adz_tensor *y0, **results;
    bool traced;
    const adzi_ode_graded *graded; /* NULL in a trace */
    adz_tensor *count, *times;     /* of the steps; times that increase */
} solution;

static bool solve(void *state)
{
    solution *s = state;
    adzi_ode *ode = s->ode;
    const bool rodas = ode->o.method == ADZ_ODE_RODAS4, many = ode->n_times > 2;
    adzi_ode_loop a = { .ode = ode,
        .n_carries = rodas  ? SLOPE
                     : many ? CARRIES
                            : FROM,
        .rows = s->graded != NULL ? &s->graded->rows : NULL,
        .dtype = s->traced ? (adz_dtype)s->y0->dtype : ADZ_F64 };
    adz_tensor *y = adz_clone(s->y0), *carries[CARRIES + 1], *states;
    ode->like = s->y0;
    a.nan = adzi_ode_number(&a, NAN);
    if (y == NULL || a.nan == NULL || !take_times(&a) || !take_atols(&a, y) || !take_dense(&a) ||
        !begin(&a, y, carries)) {
        return false;
    }
    if (many) {
        adz_tensor *targets = adz_narrow(a.times, 0, 1, ode->n_times - 1), *found[CARRIES + 1];
        if (adz_scan(to_next_time, &a, carries, a.n_carries, &targets, 1, 1, NULL, found) !=
            ADZ_OK) {
            return false;
        }
        memcpy(carries, found, a.n_carries * sizeof *found);
        states = found[a.n_carries];
    } else {
        a.target = a.stop = a.end;
        states = reach(&a, carries) ? adz_unsqueeze(state_of(&a, carries), 0) : NULL;
    }
    s->count = carries[ACCEPTED];
    s->times = a.times;
    s->results[0] = adz_cat((adz_tensor *[]){ adz_unsqueeze(y, 0), states }, 2, 0);
    return s->results[0] != NULL && (s->traced || check_end(&a, carries));
}

/* The gradient of an ordinary call takes the lengths of the steps as they are. That of these loops
 * would go through what has chosen them. */
static adz_status refuse_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)dx;
    (void)dy;
    return adzi_error(node->op->name, ADZ_ERR_UNSUPPORTED,
        "a solution with error control has no gradient in an exported function; set steps");
}

static const adzi_op refusing = { .name = "adz_odeint", .backward = refuse_backward };

/* Lets the solution refuse a backward, if it has one. */
static bool end_graph(adz_tensor **states)
{
    adzi_thread *thread = adzi_self();
    if (!thread->grad_enabled || !adzi_requires_grad(*states)) {
        return true;
    }
    adz_tensor *ended = adz_detach(*states);
    adzi_node *node =
        ended != NULL ? adzi_node_new(thread, &refusing, states, 1, 1, 0, NULL, 0) : NULL;
    if (node != NULL) {
        adzi_node_attach(node, 0, ended);
        adzi_node_release(thread, node);
        *states = ended;
    }
    return node != NULL;
}

bool adzi_ode_while(adzi_ode *ode, adz_tensor *y0, adz_tensor **results)
{
    const bool traced = adzi_self()->tracer != NULL;
    const adzi_door door = { .op = ode->e.op,
        .mode = traced ? ADZI_DOOR_KEEPS_MODES : ADZI_DOOR_RECORDS_NOTHING };
    adzi_ode_graded graded = { .wants = false };
    if (!traced && (!adzi_ode_graded_begin(ode, y0, &graded) || !adzi_ode_check_times(ode))) {
        return false;
    }
    solution s = { ode, y0, results, traced, graded.wants ? &graded : NULL, NULL, NULL };
    ode->counts = traced ? NULL : &ode->report;
    bool good = adzi_through_door(&door, solve, &s) && (!traced || end_graph(results));
    ode->counts = NULL;
    good = good &&
           (!graded.wants || adzi_ode_graded_record(ode, &graded, y0, s.count, s.times, results));
    ode->sign = NULL;
    ode->o.atols = NULL; /* the program's array may end with the call */
    return good;
}
