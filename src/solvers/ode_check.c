/* What a differential equation is refused for: options, shapes, the form, times, and fixed steps
 * that lead to infinity. */
#include <math.h>
#include <string.h>

#include "solvers/ode_control.h"
#include "solvers/ode_run.h"

enum { MOST_SPANS = 65535 }; /* of a loop: the most steps of adz_scan */

/* ---- checks of a call ------------------------------------------------------------------------ */

/* Whether there is a tolerance for each element, and rounding errors alone do not exceed them. */
static bool check_tolerances(const adzi_ode *ode, const adz_tensor *y0)
{
    const adz_ode_options *o = &ode->o;
    const double eps = adzi_ode_eps(y0);
    const int64_t wanted = o->rows ? y0->sizes[1] : y0->numel;
    if (!ode->fixed && o->rtol < eps) {
        adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
            "rtol is %s, below the rounding error of %s, %s, which no step can go below; raise rtol, or use f64",
            adzi_text_number(o->rtol), adz_dtype_name((adz_dtype)y0->dtype), adzi_text_number(eps));
        return false;
    }
    if (o->atols == NULL) {
        return true;
    }
    if ((int64_t)o->n_atols != wanted) {
        adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
            "n_atols is %zu; atols must have %lld elements, one for each %s of y0%s", o->n_atols,
            (long long)wanted, o->rows ? "column" : "element", adzi_text_shape(y0));
        return false;
    }
    for (size_t i = 0; i < o->n_atols; ++i) {
        if (!(o->atols[i] > 0) || isinf(o->atols[i])) {
            adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
                "atols[%zu] is %s; it must be above 0 and finite", i,
                adzi_text_number(o->atols[i]));
            return false;
        }
    }
    return true;
}

static bool check_state(const adzi_ode *ode, const adz_tensor *y0)
{
    const char *op = ode->e.op;
    const adz_tensor *times = ode->times;
    if (!adzi_equation_check_state(op, "y0", y0) ||
        !adzi_equation_check_state(op, "times", times)) {
        return false;
    }
    if (times->dtype != y0->dtype) {
        adzi_error(op, ADZ_ERR_DTYPE, "times are %s, and y0 is %s; they must have one dtype",
            adz_dtype_name((adz_dtype)times->dtype), adz_dtype_name((adz_dtype)y0->dtype));
        return false;
    }
    const bool event = ode->needs_end;
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
    return check_tolerances(ode, y0);
}

/* Whether the method has fixed steps, and not too many. */
static bool check_steps(const adzi_ode *ode)
{
    const int64_t spans = ode->n_times - 1, most = ode->o.max_steps;
    if (ode->fixed && ode->o.method == ADZ_ODE_BDF) {
        adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
            "steps is %lld, but ADZ_ODE_BDF chooses its steps; set steps to 0, or use ADZ_ODE_RODAS4",
            (long long)ode->o.steps);
        return false;
    }
    if (ode->fixed && ode->o.steps > most / spans) {
        adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
            "%lld steps in each of %lld spans between times are more than max_steps, %lld; raise it",
            (long long)ode->o.steps, (long long)spans, (long long)most);
        return false;
    }
    return true;
}

/* Whether the times can be those of a loop, where a plan or a file has one over them. */
static bool check_loop(const adzi_ode *ode)
{
    const adzi_thread *thread = adzi_self();
    if (ode->n_times - 1 <= MOST_SPANS) {
        return true;
    }
    const bool captured = adzi_capture_of(thread) != NULL && !adzi_capture_gives_up();
    if (thread->tracer != NULL || (captured && !ode->fixed)) {
        adzi_error(ode->e.op, ADZ_ERR_ARGUMENT,
            "%lld times; a plan and a file have a loop over them, which has at most %d steps, so %d times are possible there",
            (long long)ode->n_times, MOST_SPANS, MOST_SPANS + 1);
        return false;
    }
    return true;
}

/* Whether the form can be captured or exported. */
static bool check_form(const adzi_ode *ode)
{
    const char *op = ode->e.op;
    const bool event = ode->n_events > 0;
    if ((event && !adzi_equation_not_exported(op, "an event")) ||
        (ode->o.method == ADZ_ODE_BDF && !adzi_equation_not_exported(op, "ADZ_ODE_BDF")) ||
        (ode->o.method == ADZ_ODE_RODAS4 && !adzi_equation_not_exported(op, "ADZ_ODE_RODAS4"))) {
        return false;
    }
    if (event) {
        return !adzi_is_captured(op, "it reads on the host whether the event's sign has changed");
    }
    return ode->o.method != ADZ_ODE_BDF ||
           !adzi_is_captured(op,
               "ADZ_ODE_BDF chooses its steps and orders on the host; use ADZ_ODE_RODAS4, or set steps and use another method");
}

bool adzi_ode_check(adzi_ode *ode, const adz_tensor *y0)
{
    if (!check_state(ode, y0)) {
        return false;
    }
    ode->n_times = ode->times->sizes[0];
    return check_steps(ode) && check_form(ode) && check_loop(ode);
}

/* ---- checks of elements ---------------------------------------------------------------------- */

typedef struct times_args {
    const char *op;
    const double *at;
    int64_t n;
} times_args;

ADZI_ADDRESSES(times_args, op, at);

static adz_status report_times(const void *block)
{
    const times_args *args = block;
    for (int64_t i = 0; i < args->n; ++i) {
        const bool falls = args->n > 1 && args->at[1] < args->at[0];
        const double way = i > 0 ? args->at[i] - args->at[i - 1] : 0;
        if (!isfinite(args->at[i]) || (i > 0 && !(falls ? way < 0 : way > 0))) {
            return adzi_error(args->op, ADZ_ERR_ARGUMENT,
                "times[%lld] is %s, after %s; times must be finite, and all increase or all decrease",
                (long long)i, adzi_text_number(args->at[i]),
                i > 0 ? adzi_text_number(args->at[i - 1]) : "nothing");
        }
    }
    return ADZ_OK;
}

bool adzi_ode_read_times(adzi_ode *ode)
{
    const adzi_thread *thread = adzi_self();
    const int64_t n = ode->n_times;
    adz_tensor *times = adz_to(adz_detach(ode->times), ADZ_F64);
    adz_tensor *memory = times != NULL ? adzi_scratch(ode->e.op, ADZ_F64, 1, &n) : NULL;
    if (memory == NULL) {
        return false;
    }
    adzi_copy(memory, times);
    const times_args args = { ode->e.op, (const double *)(const void *)memory->data, n };
    double *at = (double *)(void *)memory->data;
    ode->at = adzi_capture_of(thread) == NULL ? at : NULL;
    if (adzi_repeat(report_times, times_args, &args) != ADZ_OK) {
        return false;
    }
    ode->mirrored = (!ode->fixed || ode->n_events > 0) && ode->at != NULL && at[1] < at[0];
    for (int64_t i = 0; i < n && ode->mirrored; ++i) {
        at[i] = -at[i];
    }
    ode->times = ode->mirrored ? adz_neg(ode->times) : ode->times;
    return ode->times != NULL;
}

bool adzi_ode_check_times(adzi_ode *ode)
{
    adz_tensor *const times = ode->times;
    ode->times = adz_detach(times);
    const bool good = ode->times != NULL && adzi_ode_read_times(ode);
    ode->times = times;
    ode->mirrored = false;
    return good;
}

typedef struct finite_args {
    const char *op;
    const bool *finite;
    adz_shape state;
    int64_t steps;
} finite_args;

ADZI_ADDRESSES(finite_args, op, finite);

static adz_status report_finite(const void *block)
{
    const finite_args *args = block;
    return *args->finite
               ? ADZ_OK
               : adzi_error(args->op, ADZ_ERR_NUMERIC,
                     "the solution from a state of %s is not finite after %lld steps: it blows up, or the steps are too long for the equation; set steps higher, or use error control",
                     adzi_text_sizes(args->state.rank, args->state.sizes), (long long)args->steps);
}

bool adzi_ode_check_finite(const adzi_ode *ode, adz_tensor *out, const adz_tensor *y)
{
    const adz_tensor *finite = adz_all(adz_isfinite(out), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (finite == NULL) {
        return false;
    }
    const finite_args args = { ode->e.op, (const bool *)(const void *)finite->data,
        adz_tensor_shape(y), ode->n_steps };
    return adzi_repeat(report_finite, finite_args, &args) == ADZ_OK;
}

/* ---- solutions that have ended early --------------------------------------------------------- */

adz_status adzi_ode_fail(adzi_ode_failure failure, const adzi_ode_early *at)
{
    static const struct {
        const char *why, *way_out;
    } texts[] = {
        [ADZI_ODE_STATE_NOT_FINITE] = { "the state is not finite",
            "begin where it is, or look at the function and the state" },
        [ADZI_ODE_SLOPE_NOT_FINITE] = { "the function is not finite",
            "begin where it is, or look at the function and the state" },
        [ADZI_ODE_MAX_STEPS] = { "max_steps were not enough: the solution is",
            "raise max_steps or the tolerances" },
        [ADZI_ODE_MAX_STEP] = { "max_step is too short for the time",
            "raise max_step, or use f64" },
        [ADZI_ODE_TOO_SHORT] = { "the step has become too short",
            "the solution blows up or is not smooth there: end before, or raise the tolerances" },
        [ADZI_ODE_NO_EVENT] = { "there is no event before the last time; the solution is",
            "set a later time, or look at the sign of the event's function" },
    };
    const bool stiff = failure == ADZI_ODE_MAX_STEPS && at->method < ADZ_ODE_RODAS4;
    return adzi_error(at->op, ADZ_ERR_NUMERIC,
        "%s at t = %s, after %lld steps, with a state of %s whose largest element is %s; %s%s",
        texts[failure].why, adzi_text_number(at->time), (long long)at->steps,
        adzi_text_sizes(at->state.rank, at->state.sizes), adzi_text_number(at->largest),
        texts[failure].way_out, stiff ? ", or use ADZ_ODE_RODAS4 if the equation is stiff" : "");
}
