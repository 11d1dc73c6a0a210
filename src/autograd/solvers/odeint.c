/* The public functions for differential equations, their checks, and the first run. */
#include <math.h>
#include <string.h>

#include "autograd/solvers/ode_run.h"
#include "adze/options.h"

ADZ_OPTIONS_INIT(adz_ode_options_init, adz_ode_options, ADZ_ODE_OPTIONS)

/* ---- checks ---------------------------------------------------------------------------------- */

static bool check_options(const char *op, const adz_ode_options *o)
{
    if ((int)o->method < ADZ_ODE_DORMAND_PRINCE || o->method > ADZ_ODE_RODAS4) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "method is %d, which is no adz_ode_method", (int)o->method);
    } else if (!(o->rtol > 0) || !(o->atol > 0) || isinf(o->rtol) || isinf(o->atol)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "rtol is %s and atol %s; both must be above 0 and finite: without an allowed error no "
            "step is short enough. For steps without error control set steps",
            adzi_text_number(o->rtol), adzi_text_number(o->atol));
    } else if (o->steps < 0 || o->max_steps < 1 || o->checkpoints < 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "steps is %lld, max_steps %lld and checkpoints %lld; they must be at least 0, 1 and 1",
            (long long)o->steps, (long long)o->max_steps, (long long)o->checkpoints);
    } else if (o->graph_bytes < 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "graph_bytes is %lld; it must be 0, to keep no graph, or more",
            (long long)o->graph_bytes);
    } else if (!(o->first_step >= 0) || isinf(o->first_step)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "first_step is %s; it must be 0 or more, and finite",
            adzi_text_number(o->first_step));
    } else {
        return true;
    }
    return false;
}

static bool check_state(const adzi_ode *ode, const adz_tensor *y0, const adz_tensor *times)
{
    const char *op = ode->e.op;
    if (!adzi_equation_check_state(op, "y0", y0) ||
        !adzi_equation_check_state(op, "times", times)) {
        return false;
    }
    if (times->dtype != y0->dtype) {
        adzi_error(op, ADZ_ERR_DTYPE, "times are %s, and y0 is %s; they must have one dtype",
            adz_dtype_name((adz_dtype)times->dtype), adz_dtype_name((adz_dtype)y0->dtype));
        return false;
    }
    const bool event = ode->event.function.call != NULL;
    if (times->rank != 1 || times->sizes[0] < 2 || (event && times->sizes[0] != 2)) {
        adzi_error(op, ADZ_ERR_SHAPE, "times are %s; they must be a vector of %s times",
            adzi_text_shape(times), event ? "2" : "2 or more");
        return false;
    }
    if ((ode->o.rows && y0->rank != 2) || y0->rank == ADZ_MAX_RANK) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "y0 is %s; it must have less than %d dimensions, and be a matrix [N, D] with rows",
            adzi_text_shape(y0), ADZ_MAX_RANK);
        return false;
    }
    return true;
}

/* Whether there are not too many fixed steps. */
static bool check_steps(const adzi_ode *ode)
{
    const int64_t spans = ode->n_times - 1, most = ode->o.max_steps;
    if (ode->fixed && ode->o.steps > most / spans) {
        adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
            "%lld steps in each of %lld spans between times are more than max_steps, %lld; raise "
            "it",
            (long long)ode->o.steps, (long long)spans, (long long)most);
        return false;
    }
    return true;
}

/* Whether the form can be captured or exported. */
static bool check_form(const adzi_ode *ode)
{
    const char *op = ode->e.op;
    const bool event = ode->event.function.call != NULL;
    if ((event && !adzi_equation_not_exported(op, "an event")) ||
        (!ode->fixed && !adzi_equation_not_exported(op, "error control")) ||
        (ode->o.method == ADZ_ODE_RODAS4 && !adzi_equation_not_exported(op, "ADZ_ODE_RODAS4"))) {
        return false;
    }
    if (event) {
        if (ode->fixed) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "an event needs a method with error control; set steps to 0, and another method "
                "than ADZ_ODE_RK4");
            return false;
        }
        return !adzi_is_captured(op, "it reads on the host whether the event's sign has changed");
    }
    return ode->fixed || !adzi_is_captured(op,
                             "it reads the error of each step on the host, unless steps is set");
}

/* Reads the times, which must increase. In a plan they are not read. */
static bool read_times(adzi_ode *ode)
{
    const adzi_thread *thread = adzi_self();
    const int64_t n = ode->n_times;
    if (adzi_capture_of(thread) != NULL || thread->tracer != NULL) {
        return true;
    }
    adz_tensor *times = adz_to(adz_detach(ode->times), ADZ_F64);
    adz_tensor *memory = times != NULL ? adzi_scratch(ode->e.op, ADZ_F64, 1, &n) : NULL;
    if (memory == NULL ||
        adz_tensor_read(times, memory->data, (size_t)n * sizeof(double)) != ADZ_OK) {
        return false;
    }
    ode->at = (double *)(void *)memory->data;
    for (int64_t i = 0; i < n; ++i) {
        if (!isfinite(ode->at[i]) || (i > 0 && !(ode->at[i] > ode->at[i - 1]))) {
            adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
                "times[%lld] is %s, after %s; times must be finite and increase. For a solution "
                "backwards in time, change the sign of t and of the function",
                (long long)i, adzi_text_number(ode->at[i]),
                i > 0 ? adzi_text_number(ode->at[i - 1]) : "nothing");
            return false;
        }
    }
    return true;
}

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
    return adz_copy_(adz_select(run->kept, 0, k / run->stride), run->y) != NULL;
}

bool adzi_ode_write_states(
    adzi_ode_run *run, int64_t k, const adzi_ode_span *span, const adzi_ode_move *move)
{
    int64_t first = run->next;
    adz_tensor *states[2];
    size_t count;
    adz_set_grad_enabled(run->records);
    const bool good = adzi_ode_states(run->ode, k, span, move, &run->next, states, &count);
    adz_set_grad_enabled(false);
    if (!good) {
        return false;
    }
    memcpy(run->fresh, states, count * sizeof *states);
    run->n_fresh = count;
    for (size_t i = 0; i < count; ++i) {
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
    run->first = move->last;
    const size_t n = run->records ? run->n_fresh : 0;
    adz_tensor *const kept[] = { n > 0 ? run->fresh[0] : NULL, n > 1 ? run->fresh[1] : NULL, run->y,
        run->first, run->memory, run->found[0], run->found[1], run->list };
    const bool good = adzi_survive(run->ode->e.op, run->mark, kept, sizeof kept / sizeof *kept);
    run->mark += good ? n : 0; /* the states of the graph stay until the end */
    run->n_fresh = 0;
    return good;
}

static bool take_fixed_steps(adzi_ode_run *run)
{
    adzi_ode *ode = run->ode;
    ode->n_steps = (ode->n_times - 1) * ode->o.steps;
    const int64_t room = run->kept != NULL ? run->kept->sizes[0] : 1;
    run->stride = (ode->n_steps + room - 1) / room;
    for (int64_t k = 0; k < ode->n_steps; ++k) {
        adzi_ode_span span;
        adzi_ode_move move = { .first = run->first };
        if (!adzi_ode_keep_state(run, k) || !adzi_ode_span_of(ode, k, &span) ||
            !adzi_ode_run_step(run, &span, &move) || !adzi_ode_write_states(run, k, &span, &move)) {
            return false;
        }
        ++ode->report.steps;
        if (!adzi_ode_go_on(run, &move)) {
            return false;
        }
    }
    if (ode->at == NULL) {
        ode->report.time = NAN;
        return true;
    }
    ode->report.time = ode->at[ode->n_times - 1];
    adz_tensor *finite = adz_all(adz_isfinite(run->out), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (finite != NULL && adz_item(finite) == 0) {
        adzi_error(ode->e.op, ADZ_ERR_NUMERIC,
            "the solution from a state of %s is not finite after %lld steps: it blows up, or the "
            "steps are too long for the equation; set steps higher, or use error control",
            adzi_text_shape(run->y), (long long)ode->n_steps);
        return false;
    }
    return finite != NULL;
}

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
    adzi_equation given = ode->e;
    const int64_t most = ode->fixed ? (ode->n_times - 1) * ode->o.steps : ode->o.max_steps;
    const int64_t room = ode->o.checkpoints < most ? ode->o.checkpoints : most;
    ode->times = adz_detach(ode->times);
    run->y = adz_clone(adz_detach(y0));
    run->out = ode->event.function.call == NULL ? rows_of(y0, ode->n_times) : NULL;
    run->kept = wants ? rows_of(y0, room > 1 ? room : 2) : NULL;
    run->stride = run->next = 1;
    if (ode->times == NULL || run->y == NULL || (wants && run->kept == NULL) ||
        !adzi_equation_detach(&ode->e) || !read_times(ode) ||
        (!adzi_requires_grad(times) && !adzi_ode_graph_begin(run, y0, given.arguments))) {
        return false;
    }
    memcpy(ode->event.arguments, ode->e.arguments, sizeof ode->e.arguments);
    run->mark = adzi_self()->n_temporaries;
    return ode->event.function.call != NULL ||
           (run->out != NULL && adz_copy_(adz_select(run->out, 0, 0), run->y) != NULL);
}

/* Runs without a graph. This function is not inlined, because ADZI_FLOOR needs a stack frame of its
 * own. */
static __attribute__((noinline)) bool first_run(adzi_ode_run *run, adz_tensor *y0, bool wants)
{
    adzi_thread *thread = adzi_self();
    const size_t frame = adzi_frame_begin(thread, ADZI_FLOOR(), NULL);
    if (frame == SIZE_MAX) {
        adzi_fail_memory(run->ode->e.op, sizeof(adzi_frame));
        return false;
    }
    thread->grad_enabled = false;
    const bool good =
        prepare(run, y0, wants) && (run->ode->fixed ? take_fixed_steps(run) : adzi_ode_adapt(run));
    adzi_frames_leave(thread, frame);
    return good;
}

/* The solution as the graph of its steps, for an export. */
static bool unrolled(adzi_ode *ode, adz_tensor *y0, adz_tensor **results)
{
    const int64_t bytes[] = { (ode->n_times + 1) * (int64_t)sizeof(adz_tensor *) };
    adz_tensor *memory = adzi_scratch(ode->e.op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return false;
    }
    adz_tensor **list = (adz_tensor **)(void *)memory->data;
    size_t count;
    list[0] = adz_unsqueeze(y0, 0);
    ode->n_steps = (ode->n_times - 1) * ode->o.steps;
    ode->report = (adz_ode_report){ ode->n_steps, 0, NAN };
    ode->graph = true;
    results[0] = adzi_ode_replay(ode, y0, list + 1, &count) ? adz_cat(list, count + 1, 0) : NULL;
    return results[0] != NULL;
}

/* Whether gradients can be asked for at all. */
static bool solve(adzi_ode *ode, adz_tensor *y0, adz_tensor **results, int n)
{
    adzi_thread *thread = adzi_self();
    adzi_ode given = *ode;
    if (thread->tracer != NULL) {
        return unrolled(ode, y0, results);
    }
    adzi_ode_run run = { .ode = ode };
    if (!first_run(&run, y0, thread->grad_enabled)) {
        return false;
    }
    results[0] = run.out != NULL ? run.out : adz_clone(run.found[0]);
    results[n - 1] = run.out != NULL ? run.out : adz_clone(run.found[1]);
    ode->times = given.times;
    memcpy(ode->e.arguments, given.e.arguments, sizeof given.e.arguments);
    memcpy(ode->event.arguments, given.e.arguments, sizeof given.e.arguments);
    return results[0] != NULL && results[n - 1] != NULL &&
           (!thread->grad_enabled ||
               adzi_ode_record(ode, y0, run.kept, run.stride, &run.graph, results, n));
}

static adz_status run(adzi_ode *ode, adz_tensor *y0, adz_tensor *times,
    const adz_ode_options *options, adz_tensor **results, int n, adz_ode_report *report)
{
    const char *op = ode->e.op;
    adz_tensor *made[2] = { NULL };
    ode->o = (adz_ode_options)ADZ_ODE_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_ODE_OPTIONS, &ode->o, options) || !check_options(op, &ode->o) ||
        !check_state(ode, y0, times)) {
        return adzi_status(NULL);
    }
    if (ode->o.method == ADZ_ODE_RK4 && ode->o.steps == 0) {
        ode->o.steps = 1;
    }
    ode->fixed = ode->o.steps > 0;
    ode->times = times;
    ode->n_times = times->sizes[0];
    ode->report.time = NAN;
    if (!check_steps(ode) || !check_form(ode)) {
        return adzi_status(NULL);
    }
    const size_t mark = adzi_self()->n_temporaries;
    const bool good = solve(ode, y0, made, n);
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

adz_tensor *adz_odeint(adz_ode_map function, adz_tensor *y0, adz_tensor *times, void *user,
    const adz_ode_options *options, adz_ode_report *report)
{
    adzi_ode ode = { .e = { .op = "adz_odeint", .ode = function, .user = user } };
    adz_tensor *y;
    if (function == NULL) {
        return adzi_fail_null("adz_odeint", "function");
    }
    return run(&ode, y0, times, options, &y, 1, report) == ADZ_OK ? y : NULL;
}

adz_tensor *adz_odeint_with(const adz_tensor_function *function, adz_tensor *y0, adz_tensor *times,
    adz_tensor *const *arguments, size_t n, const adz_ode_options *options, adz_ode_report *report)
{
    adzi_ode ode = { .e = { .op = "adz_odeint_with" } };
    adz_tensor *y;
    return adzi_equation_take(&ode.e, function, arguments, n) &&
                   run(&ode, y0, times, options, &y, 1, report) == ADZ_OK
               ? y
               : NULL;
}

adz_status adz_odeint_event(const adz_tensor_function *function, adz_tensor *y0, adz_tensor *times,
    adz_tensor *const *arguments, size_t n, const adz_tensor_function *event,
    const adz_ode_options *options, adz_tensor **found, adz_ode_report *report)
{
    adzi_ode ode = { .e = { .op = "adz_odeint_event" }, .event = { .op = "adz_odeint_event" } };
    if (event == NULL) {
        return adzi_error_null(ode.e.op, "event");
    }
    if (found == NULL) {
        return adzi_error_null(ode.e.op, "found");
    }
    if (!adzi_equation_take(&ode.event, event, arguments, n) ||
        !adzi_equation_take(&ode.e, function, arguments, n)) {
        return adzi_status(NULL);
    }
    return run(&ode, y0, times, options, found, 2, report);
}
