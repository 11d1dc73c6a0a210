/* The public functions for differential equations, and the first run. */
#include <math.h>
#include <string.h>

#include "solvers/ode_run.h"
#include "adze/options.h"
#include "base/door.h"

static const char *const methods[] = { "Dormand-Prince", "RK4", "RODAS4", "BDF", NULL };

#define TOLERANCE_HINT \
    "without an allowed error no step is short enough. For steps without error control set steps"

static const adz_field fields[] = {
    ADZ_FIELD_AS(adz_ode_options, method, "method", ADZ_FIELD_ENUM, .values = methods),
    ADZ_FIELD(adz_ode_options, rtol, .value = 1e-6, ADZ_FINITE_ABOVE(0), .hint = TOLERANCE_HINT),
    ADZ_FIELD(adz_ode_options, atol, .value = 1e-8, ADZ_FINITE_ABOVE(0), .hint = TOLERANCE_HINT),
    ADZ_FIELD(adz_ode_options, steps, .value = 0, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_ode_options, max_steps, .value = 100000, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_ode_options, first_step, .value = 0, ADZ_FINITE_FROM(0)),
    ADZ_FIELD(adz_ode_options, checkpoints, .value = 256, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_ode_options, graph_bytes, .value = 16 << 20, ADZ_AT_LEAST(0),
        .hint = "0 keeps no graph"),
    ADZ_FIELD(adz_ode_options, max_step, .value = 0, ADZ_AT_LEAST(0), .hint = "0 sets no limit"),
    ADZ_FIELD(adz_ode_options, max_hits, .value = 10000, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_ode_options, event_direction, .value = 0, ADZ_CLOSED(-1, 1),
        .hint = "1 is for a function that rises through 0, -1 for one that falls, 0 for both"),
};

ADZ_OPTIONS_TABLE(adz_ode_options, ADZ_ODE_OPTIONS, fields)

/* ---- the run --------------------------------------------------------------------------------- */

bool adzi_ode_keep_state(adzi_ode_run *run, int64_t k)
{
    if (run->kept == NULL || k % run->stride != 0) {
        return true;
    }
    const int64_t room = run->kept->sizes[0];
    if (k / run->stride == room) { /* every other state makes room */
        const size_t bytes = (size_t)(run->kept->numel / room) * adzi_item_size(run->kept);
        for (int64_t i = 1; 2 * i < room; ++i) {
            memcpy(run->kept->data + (size_t)i * bytes, run->kept->data + (size_t)(2 * i) * bytes,
                bytes);
        }
        run->stride *= 2;
        return adzi_ode_keep_state(run, k);
    }
    return adz_copy_(adz_select(run->kept, 0, k / run->stride), run->state) != NULL;
}

bool adzi_ode_write_states(adzi_ode_run *run, const adzi_ode_span *span, const adzi_ode_move *move)
{
    int64_t first = run->next;
    adz_tensor *states[2];
    adz_set_grad_enabled(run->records);
    const int count = adzi_ode_states(run->ode, span, move, &run->next, states);
    adz_set_grad_enabled(false);
    if (count < 0) {
        return false;
    }
    memcpy(run->fresh, states, (size_t)count * sizeof *states);
    run->n_fresh = (size_t)count;
    for (int i = 0; i < count; ++i) {
        const int64_t m = states[i]->sizes[0];
        if (adz_copy_(adz_narrow(run->out, 0, first, m), states[i]) == NULL) {
            return false;
        }
        first += m;
    }
    return true;
}

bool adzi_ode_go_on(adzi_ode_run *run, adzi_ode_move *move)
{
    if (!adzi_ode_graph_take(run, move)) {
        return false;
    }
    run->y = move->y1;
    run->state = move->state;
    run->first = move->last;
    const size_t n = run->records ? run->n_fresh : 0;
    adz_tensor *const kept[] = { n > 0 ? run->fresh[0] : NULL, n > 1 ? run->fresh[1] : NULL, run->y,
        run->first, run->memory, run->path, run->hits, run->hit_times, run->hit_states, run->list,
        run->stiff[0], run->stiff[1], run->stiff[2] };
    const bool good = adzi_survive(run->ode->e.op, run->mark, kept, sizeof kept / sizeof *kept);
    run->mark += good ? n : 0; /* the states of the graph stay until the end */
    run->n_fresh = 0;
    return good;
}

/* ---- fixed steps ----------------------------------------------------------------------------- */

/* The signs of the events at the first time. */
static bool begin_events(adzi_ode_run *run)
{
    adzi_ode *ode = run->ode;
    run->t = ode->at[0];
    ode->report.time = adzi_ode_time(ode, run->t);
    ode->n_steps = 0;
    if (!adzi_ode_check_finite(ode, run->y, run->y)) {
        return false;
    }
    run->first = adzi_ode_slope(ode, adz_select(ode->times, 0, 0), run->y);
    const double way = ode->at[ode->n_times - 1] - run->t;
    return run->first != NULL && adzi_ode_events_begin(run, way + fabs(run->t));
}

/* The begin of step k, as a number. */
static double begin_of(const adzi_ode *ode, int64_t k)
{
    const int64_t i = k / ode->o.steps, j = k % ode->o.steps;
    const double part = (double)j / (double)ode->o.steps;
    return j == 0 ? ode->at[i] : ode->at[i] + part * (ode->at[i + 1] - ode->at[i]);
}

/* Accepts step k. A state that is not finite is refused before events are looked for: it may have
 * another sign, too. */
static bool accept_fixed(
    adzi_ode_run *run, int64_t k, const adzi_ode_span *span, adzi_ode_move *move, bool *over)
{
    adzi_ode *ode = run->ode;
    if (ode->n_events == 0) {
        ++ode->report.steps;
        return adzi_ode_write_states(run, span, move);
    }
    ode->n_steps = k;
    if (!adzi_ode_reserve_end(run)) {
        return false;
    }
    ode->n_steps = k + 1;
    ode->ends[k] = run->t = begin_of(ode, k);
    ode->ends[k + 1] = begin_of(ode, k + 1);
    return adzi_ode_check_finite(ode, move->y1, run->y) &&
           adzi_ode_accept(run, k, span, move, over);
}

static bool take_fixed_steps(adzi_ode_run *run)
{
    adzi_ode *ode = run->ode;
    const int64_t n = (ode->n_times - 1) * ode->o.steps;
    const int64_t room = run->kept != NULL ? run->kept->sizes[0] : 1;
    run->stride = (n + room - 1) / room;
    if (ode->n_events > 0 && !begin_events(run)) {
        return false;
    }
    ode->n_steps = n; /* with events: what accept_fixed says */
    bool over = false;
    for (int64_t k = 0; !over; ++k) {
        adzi_ode_span span;
        adzi_ode_move move = { .first = run->first };
        over = k + 1 == n;
        if (!adzi_ode_keep_state(run, k) || !adzi_ode_span_of(ode, k, &span) ||
            !adzi_ode_run_step(run, &span, &move) || !accept_fixed(run, k, &span, &move, &over) ||
            !adzi_ode_go_on(run, &move)) {
            return false;
        }
    }
    if (ode->n_events > 0) {
        return true;
    }
    ode->report.time = ode->at != NULL ? ode->at[ode->n_times - 1] : NAN;
    return adzi_ode_check_finite(ode, run->out, run->y);
}

/* ---- the first run --------------------------------------------------------------------------- */

/* [n, ...] for n states like y0. */
static adz_tensor *rows_of(const adz_tensor *y0, int64_t n)
{
    int64_t sizes[ADZ_MAX_RANK] = { n };
    memcpy(sizes + 1, y0->sizes, (size_t)y0->rank * sizeof *sizes);
    return adz_zeros(adz_shape_of(y0->rank + 1, sizes), (adz_dtype)y0->dtype);
}

static bool prepare(adzi_ode_run *run, adz_tensor *y0, bool wants)
{
    adzi_ode *ode = run->ode;
    adz_tensor *const times = ode->times;
    ode->like = y0;
    adzi_equation given = ode->e;
    const int64_t most = ode->fixed ? (ode->n_times - 1) * ode->o.steps : ode->o.max_steps;
    const int64_t room = ode->o.checkpoints < most ? ode->o.checkpoints : most;
    ode->times = adz_detach(ode->times);
    run->y = adz_clone(adz_detach(y0));
    run->out = rows_of(y0, ode->n_times);
    run->state = run->y != NULL ? adzi_ode_state_of(ode, run->y) : NULL;
    run->kept = wants && run->state != NULL ? rows_of(run->state, room > 1 ? room : 2) : NULL;
    run->stride = run->next = 1;
    if (ode->times == NULL || run->y == NULL || run->out == NULL || (wants && run->kept == NULL) ||
        !adzi_equation_detach(&ode->e) || !adzi_ode_read_times(ode) ||
        (!adzi_requires_grad(times) && !adzi_ode_graph_begin(run, y0, given.arguments)) ||
        (wants && !adzi_ode_leaves_begin(run))) {
        return false;
    }
    run->mark = adzi_self()->n_temporaries;
    return adz_copy_(adz_select(run->out, 0, 0), run->y) != NULL;
}

typedef struct first_call {
    adzi_ode_run *run;
    adz_tensor *y0;
    bool wants;
} first_call;

static bool take_all_steps(void *state)
{
    const first_call *call = state;
    adzi_ode_run *run = call->run;
    return prepare(run, call->y0, call->wants) &&
           (run->ode->fixed ? take_fixed_steps(run) : adzi_ode_adapt(run));
}

/* Runs without a graph. */
static bool first_run(adzi_ode_run *run, adz_tensor *y0, bool wants)
{
    const adzi_door door = { .op = run->ode->e.op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    return adzi_through_door(&door, take_all_steps, &(first_call){ run, y0, wants });
}

/* Solves the equation, and makes a node of the solution where gradients are enabled. */
static bool solve(adzi_ode *ode, adz_tensor *y0, adz_tensor **results)
{
    adzi_thread *thread = adzi_self();
    adzi_ode given = *ode;
    if (adzi_ode_may_while(ode)) {
        return adzi_ode_while(ode, y0, results);
    }
    const int scans = adzi_ode_may_scan(ode, y0);
    if (scans != 0) {
        return scans > 0 && adzi_ode_scan(ode, y0, results);
    }
    adzi_ode_run run = { .ode = ode };
    ode->counts = &ode->report;
    const bool good = first_run(&run, y0, thread->grad_enabled);
    ode->counts = NULL;
    adzi_ode_leaves_end(ode);
    ode->o.atols = NULL; /* the program's array may end with the call */
    if (!good || !adzi_ode_run_results(&run, results)) {
        return false;
    }
    ode->times = given.times;
    memcpy(ode->e.arguments, given.e.arguments, sizeof given.e.arguments);
    return !thread->grad_enabled ||
           adzi_ode_record(
               ode, y0, &(adzi_ode_kept){ run.kept, run.stride, run.path, &run.graph }, results);
}

/* ode has the functions and the times; its options may be set. */
static adz_status run(adzi_ode *ode, adz_tensor *y0, adz_tensor **results, adz_ode_report *report)
{
    const char *op = ode->e.op;
    const int n = adzi_ode_results(ode);
    adz_tensor *made[ADZI_ODE_RESULTS] = { NULL };
    if (ode->o.method == ADZ_ODE_RK4 && ode->o.steps == 0) {
        ode->o.steps = 1;
    }
    ode->fixed = ode->o.steps > 0;
    ode->report.time = NAN;
    ode->ended = -1;
    if (!adzi_ode_check(ode, y0)) {
        return adzi_status(NULL);
    }
    const size_t mark = adzi_self()->n_temporaries;
    const bool good = solve(ode, y0, made);
    if (report != NULL) {
        *report = ode->report;
    }
    if (!good) {
        adzi_scope_unwind(adzi_self(), mark);
        return adzi_status(NULL);
    }
    if (!adzi_survive(op, mark, made, (size_t)n)) {
        return adzi_status(NULL);
    }
    memcpy(results, made, (size_t)n * sizeof *made);
    return ADZ_OK;
}

static bool take_options(adzi_ode *ode, const adz_ode_options *options)
{
    return adz_options_take(ode->e.op, &adz_ode_options_table, &ode->o, options);
}

adz_tensor *adz_odeint(adz_ode_map function, void *user, adz_tensor *y0, adz_tensor *times,
    const adz_ode_options *options, adz_ode_report *report)
{
    adzi_ode ode = { .e = { .op = "adz_odeint", .ode = function, .user = user }, .times = times };
    adz_tensor *y;
    if (function == NULL) {
        return adzi_fail_null("adz_odeint", "function");
    }
    return take_options(&ode, options) && run(&ode, y0, &y, report) == ADZ_OK ? y : NULL;
}

adz_tensor *adz_odeint_many(const adz_tensor_function *function, adz_tensor *y0, adz_tensor *times,
    adz_tensor *const *arguments, size_t n, const adz_ode_options *options, adz_ode_report *report)
{
    adzi_ode ode = { .e = { .op = "adz_odeint_many" }, .times = times };
    adz_tensor *y;
    return adzi_equation_take(&ode.e, function, arguments, n) && take_options(&ode, options) &&
                   run(&ode, y0, &y, report) == ADZ_OK
               ? y
               : NULL;
}

adz_status adz_odeint_event(const adz_tensor_function *function, adz_tensor *y0, adz_tensor *times,
    adz_tensor *const *arguments, size_t n, const adz_tensor_function *event,
    const adz_ode_options *options, adz_tensor **found, adz_ode_report *report)
{
    adzi_ode ode = { .e = { .op = "adz_odeint_event" }, .times = times, .n_events = 1 };
    adz_tensor *results[3];
    if (event == NULL || event->call == NULL) {
        return adzi_error_null(ode.e.op, "event");
    }
    if (found == NULL) {
        return adzi_error_null(ode.e.op, "found");
    }
    if (!adzi_equation_take(&ode.e, function, arguments, n) || !take_options(&ode, options)) {
        return adzi_status(NULL);
    }
    ode.needs_end = true;
    ode.events[0] = (adz_ode_event){ *event, ode.o.event_direction, 1 };
    const size_t mark = adzi_self()->n_temporaries;
    if (run(&ode, y0, results, report) != ADZ_OK) {
        return adzi_status(NULL);
    }
    adz_tensor *at[] = { adz_select(results[1], 0, 0), adz_select(results[2], 0, 0) };
    if (at[0] == NULL || at[1] == NULL || !adzi_survive(ode.e.op, mark, at, 2)) {
        return adzi_status(NULL);
    }
    memcpy(found, at, sizeof at);
    return ADZ_OK;
}

/* Copies the events. False with the error recorded if one of them cannot be looked for. */
static bool take_events(adzi_ode *ode, const adz_ode_event *events, size_t n)
{
    const char *op = ode->e.op;
    if (events == NULL) {
        return adzi_fail_null(op, "events") != NULL;
    }
    if (n == 0 || n > ADZ_ODE_EVENTS) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%zu events; 1 to %d are possible", n, ADZ_ODE_EVENTS);
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        const adz_ode_event *event = &events[i];
        if (event->function.call == NULL) {
            adzi_error(op, ADZ_ERR_NULL, "events[%zu] has no function", i);
            return false;
        }
        if (event->direction < -1 || event->direction > 1 || event->terminal < 0) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "events[%zu] has direction %d and terminal %lld; direction must be 1 for a function that rises through 0, -1 for one that falls, or 0 for both, and terminal the number of the hit that ends the solution, or 0",
                i, event->direction, (long long)event->terminal);
            return false;
        }
        ode->events[i] = *event;
    }
    ode->n_events = n;
    return true;
}

adz_status adz_odeint_events(const adz_tensor_function *function, adz_tensor *y0, adz_tensor *times,
    adz_tensor *const *arguments, size_t n, const adz_ode_event *events, size_t n_events,
    const adz_ode_options *options, adz_tensor **found, int *ended, adz_ode_report *report)
{
    adzi_ode ode = { .e = { .op = "adz_odeint_events" }, .times = times };
    if (found == NULL) {
        return adzi_error_null(ode.e.op, "found");
    }
    if (!take_events(&ode, events, n_events) ||
        !adzi_equation_take(&ode.e, function, arguments, n) || !take_options(&ode, options)) {
        return adzi_status(NULL);
    }
    if (ode.o.event_direction != 0) {
        return adzi_error(ode.e.op, ADZ_ERR_ARGUMENT,
            "event_direction is %d, which is of adz_odeint_event; set the direction of each event",
            ode.o.event_direction);
    }
    if (run(&ode, y0, found, report) != ADZ_OK) {
        return adzi_status(NULL);
    }
    if (ended != NULL) {
        *ended = ode.ended;
    }
    return ADZ_OK;
}
