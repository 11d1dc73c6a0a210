/* Fixed steps as scans, for plans and exports.
 *
 * With a gradient a plan has scans where an ordinary call keeps the graph of all steps, so that the
 * gradients have its bits. In the other cases its steps are launched one by one.
 *
 * A scan over the spans between two times has in its body a scan over the steps of a span. So a
 * plan has loops, and a C file or an ONNX file has loops, whose text does not depend on the number
 * of steps. The steps are those of other runs (ode_step.c). Where in its span a step begins comes
 * from a tensor in a plan. An export counts the steps by a carry, because a tensor would be a table
 * in the file. Both give the number that the grid has (adzi_ode_span_of). */
#include <math.h>
#include <string.h>

#include "adze/loops.h"
#include "base/threads/marks.h"
#include "solvers/ode_run.h"

enum { MOST_STEPS = 65535, MOST_CARRIES = 3 };

/* What a body knows. */
typedef struct scanned {
    adzi_ode *ode;
    adz_tensor *begin, *width, *h; /* of the span that is running */
    bool counts;                   /* a carry counts the steps */
    bool carries_slope;            /* the last slope of a step is the first one of the next */
    adz_dtype times;
} scanned;

/* The spans between two times: where they begin, and their widths, [T - 1] each. */
typedef struct spans {
    adz_tensor *begins, *widths;
} spans;

/* Whether the graph of all steps is small enough to be kept, so that an ordinary call keeps it, too
 * (Note [Kept graphs] in ode_graph.c). The bytes are those of one step, which is recorded and never
 * computed. -1 with the error recorded. */
static int keeps_graph(const adzi_ode *ode, const adz_tensor *y0)
{
    adzi_thread *thread = adzi_self();
    const size_t mark = thread->n_temporaries;
    adzi_ode one = *ode;
    adzi_ode_move move = { .first = NULL };
    adzi_add_mark(ADZI_MARK_PROBE, NULL, 0);
    const bool skipped = adzi_capture_skips(true);
    adz_tensor *y = adz_detach((adz_tensor *)(uintptr_t)y0);
    y = y != NULL && adzi_requires_grad(y0) ? adzi_equation_leaf(y) : y;
    adz_tensor *begin = adz_select(ode->times, 0, 0);
    const adzi_ode_span span = { .t = begin, .h = adz_sub(adz_select(ode->times, 0, 1), begin) };
    bool good = y != NULL && span.h != NULL;
    for (size_t i = 0; i < ode->e.n && good; ++i) {
        one.e.arguments[i] = adzi_equation_stand_in(ode->e.arguments[i], false);
        good = one.e.arguments[i] != NULL;
    }
    int64_t bytes = good && adzi_ode_step(&one, &span, y, &move) ? adzi_graph_bytes(move.y1) : -1;
    adzi_scope_unwind(thread, mark);
    adzi_capture_skips(skipped);
    adzi_add_mark(ADZI_MARK_PROBED, NULL, 0);
    const int64_t steps = (ode->n_times - 1) * ode->o.steps;
    return bytes < 0 ? -1 : steps <= ode->o.graph_bytes / (bytes > 0 ? bytes : 1);
}

int adzi_ode_may_scan(const adzi_ode *ode, const adz_tensor *y0)
{
    const adzi_thread *thread = adzi_self();
    const bool runge_kutta =
        ode->o.method == ADZ_ODE_RK4 || ode->o.method == ADZ_ODE_DORMAND_PRINCE;
    if (thread->tracer != NULL) {
        return true; /* exports contain no other steps (adzi_ode_check) */
    }
    if (!ode->fixed || !runge_kutta || ode->o.steps > MOST_STEPS || ode->n_times > MOST_STEPS ||
        adzi_capture_of(adzi_self()) == NULL) {
        return false;
    }
    return !thread->grad_enabled ||
           (ode->o.graph_bytes > 0 && !adzi_requires_grad(ode->times) ? keeps_graph(ode, y0) : 0);
}

/* A step from t. The carries are y, and the slope there if it is carried. */
static bool take_step(const scanned *s, adz_tensor *t, adz_tensor *const *in, adz_tensor **out)
{
    const adzi_ode_span span = { .t = t, .h = s->h };
    adzi_ode_move move = { .first = s->carries_slope ? in[1] : NULL };
    if (t == NULL || !adzi_ode_step(s->ode, &span, in[0], &move)) {
        return false;
    }
    out[0] = move.y1;
    if (s->carries_slope) {
        out[1] = move.last;
    }
    return true;
}

/* Makes the state result n of a step. Two views stand between, so that a backward adds the gradient
 * of the result after those of later steps, as it does for the states of an ordinary call. */
static bool give_state(adz_tensor **results, size_t n)
{
    results[n] = adz_squeeze(adz_unsqueeze(results[0], 0), 0);
    return results[n] != NULL;
}

/* Where the steps of a span begin, as parts of its width: [steps]. */
static adz_tensor *parts_of(const scanned *s)
{
    const double steps = (double)s->ode->o.steps;
    return adz_to(adz_div(adz_arange(0, steps, 1, ADZ_F64), adz_scalar(steps, ADZ_F64)), s->times);
}

/* The body of the scan over the steps of a span. */
static adz_status step_of_span(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const scanned *s = user;
    const int next = s->carries_slope ? 2 : 1;
    adz_tensor *part = inputs[next]; /* of the span, or the number of the step */
    if (s->counts) {
        results[next] = adz_add_number(part, 1);
        part = adz_to(adz_div(part, adz_scalar((double)s->ode->o.steps, ADZ_F64)), s->times);
    }
    adz_tensor *t = adz_addcmul(s->begin, s->width, part, 1);
    return take_step(s, t, inputs, results) ? ADZ_OK : adz_error_code();
}

/* All steps of the span whose begin and width are known. The carries become those at its end. */
static bool run_span(scanned *s, adz_tensor **carries)
{
    const int64_t steps = s->ode->o.steps;
    size_t n = s->carries_slope ? 2 : 1;
    adz_tensor *parts = NULL, *results[MOST_CARRIES];
    s->h = adz_mul_number(s->width, 1.0 / (double)steps);
    if (s->h == NULL || steps == 1) {
        return s->h != NULL && take_step(s, s->begin, carries, carries);
    }
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.length = steps;
    adz_tensor *in[MOST_CARRIES];
    memcpy(in, carries, n * sizeof *in);
    if (s->counts) {
        in[n++] = adz_scalar(0, ADZ_F64);
    } else {
        parts = parts_of(s);
    }
    if (in[n - 1] == NULL || (!s->counts && parts == NULL) ||
        adz_scan(step_of_span, s, in, n, &parts, s->counts ? 0 : 1, 0, &o, results) != ADZ_OK) {
        return false;
    }
    memcpy(carries, results, (s->carries_slope ? 2 : 1) * sizeof *carries);
    return true;
}

/* The body of the scan over spans. The result is the state at the end of the span. */
static adz_status span_of_times(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    scanned s = *(const scanned *)user;
    const size_t n = s.carries_slope ? 2 : 1;
    s.begin = inputs[n];
    s.width = inputs[n + 1];
    memcpy(results, inputs, n * sizeof *results);
    if (!run_span(&s, results)) {
        return adz_error_code();
    }
    return give_state(results, n) ? ADZ_OK : adz_error_code();
}

/* The body of one scan over the steps of all spans. */
static adz_status step_of_all(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    scanned s = *(const scanned *)user;
    const size_t n = s.carries_slope ? 2 : 1;
    s.h = inputs[n + 1];
    return take_step(&s, inputs[n], inputs, results) && give_state(results, n) ? ADZ_OK
                                                                               : adz_error_code();
}

/* Whether one scan over all steps serves: plans have loops within loops only where the outer one
 * has many steps. It keeps the state of each step. */
static bool is_flat(const scanned *s, const adz_tensor *y0)
{
    const adzi_ode *ode = s->ode;
    const double bytes = (double)ode->n_steps * (double)y0->numel * (double)adzi_item_size(y0);
    return !s->counts && ode->o.steps > 1 && ode->n_times > 2 && ode->n_steps <= MOST_STEPS &&
           bytes <= (double)ode->o.graph_bytes && y0->rank + 2 <= ADZ_MAX_RANK;
}

/* The states at the ends of the spans, by one scan over all steps. */
static adz_tensor *flat_states(scanned *s, const spans *all, adz_tensor *const *carries)
{
    const int64_t steps = s->ode->o.steps;
    const size_t n = s->carries_slope ? 2 : 1;
    adz_tensor *begins = adz_unsqueeze(all->begins, 1), *widths = adz_unsqueeze(all->widths, 1);
    adz_tensor *ts = adz_addcmul(begins, widths, parts_of(s), 1), *results[MOST_CARRIES];
    adz_tensor *hs = adz_expand(
        adz_mul_number(widths, 1.0 / (double)steps), ADZ_SHAPE(all->begins->sizes[0], steps));
    adz_tensor *inputs[2] = { adz_reshape(ts, ADZ_SHAPE(-1)), adz_reshape(hs, ADZ_SHAPE(-1)) };
    if (inputs[0] == NULL || inputs[1] == NULL ||
        adz_scan(step_of_all, s, carries, n, inputs, 2, 1, NULL, results) != ADZ_OK) {
        return NULL;
    }
    adz_shape shape = { .rank = results[n]->rank + 1, .sizes = { all->begins->sizes[0], steps } };
    memcpy(shape.sizes + 2, results[n]->sizes + 1,
        (size_t)(results[n]->rank - 1) * sizeof *shape.sizes);
    return adz_select(adz_reshape(results[n], shape), 1, steps - 1);
}

/* The states after the first time, stacked. */
static adz_tensor *states_of(scanned *s, adz_tensor *y0)
{
    const adzi_ode *ode = s->ode;
    const int64_t n_spans = ode->n_times - 1;
    const size_t n = s->carries_slope ? 2 : 1;
    spans all = { .begins = adz_narrow(ode->times, 0, 0, n_spans) };
    all.widths = adz_sub(adz_narrow(ode->times, 0, 1, n_spans), all.begins);
    adz_tensor *carries[2] = { y0, NULL }, *results[MOST_CARRIES];
    if (s->carries_slope) {
        carries[1] = adzi_ode_slope(ode, adz_select(ode->times, 0, 0), y0);
    }
    if (all.widths == NULL || carries[n - 1] == NULL) {
        return NULL;
    }
    if (n_spans == 1) {
        s->begin = adz_select(all.begins, 0, 0);
        s->width = adz_select(all.widths, 0, 0);
        return s->begin != NULL && s->width != NULL && run_span(s, carries)
                   ? adz_unsqueeze(carries[0], 0)
                   : NULL;
    }
    if (is_flat(s, y0)) {
        return flat_states(s, &all, carries);
    }
    adz_tensor *inputs[2] = { all.begins, all.widths };
    return adz_scan(span_of_times, s, carries, n, inputs, 2, 1, NULL, results) == ADZ_OK
               ? results[n]
               : NULL;
}

bool adzi_ode_scan(adzi_ode *ode, adz_tensor *y0, adz_tensor **results)
{
    const bool traced = adzi_self()->tracer != NULL;
    scanned s = { .ode = ode,
        .counts = traced,
        .carries_slope = ode->o.method == ADZ_ODE_DORMAND_PRINCE,
        .times = (adz_dtype)ode->times->dtype };
    ode->graph = true;
    ode->like = y0;
    ode->n_steps = (ode->n_times - 1) * ode->o.steps;
    ode->report.steps = ode->n_steps;
    ode->counts = traced ? NULL : &ode->report;
    if (!traced && !adzi_ode_check_times(ode)) {
        return false;
    }
    adz_tensor *states[2] = { adz_unsqueeze(y0, 0), states_of(&s, y0) };
    results[0] = states[1] != NULL ? adz_cat(states, 2, 0) : NULL;
    ode->counts = NULL;
    return results[0] != NULL && (traced || adzi_ode_check_finite(ode, adz_detach(results[0]), y0));
}
