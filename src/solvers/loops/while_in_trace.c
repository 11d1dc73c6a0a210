/* While loops as regions of a trace.
 *
 * If a gradient is wanted, the region keeps the carries before each step, and its node is that of a
 * scan whose number of steps is known in each run only (backward_in_trace.c). */
#include <string.h>

#include "solvers/loops/in_trace.h"

enum { MOST_STEPS = 65535, MOST_KEPT = 1 << 28 }; /* steps, and elements of all carries of all */

const adzi_op adzi_while_node = { .name = "adz_while", .backward = adzi_steps_backward };

typedef struct traced_while {
    adzi_loop *loop;
    adz_loop_condition condition;
    adzi_traced_steps steps; /* found: the last carries, all carries, the count, the end */
    adz_tensor *count, *ended;
    uint64_t sequence; /* of the newest node before the body */
} traced_while;

/* ---- loops without a gradient ---------------------------------------------------------------- */

/* How many elements the carries of all steps have. */
static double kept_of(const traced_while *w)
{
    double n = 0;
    for (size_t k = 0; k < w->loop->n_carries; ++k) {
        n += (double)w->loop->out[k]->numel * (double)w->steps.attr.steps;
    }
    return n;
}

static bool may_keep(const traced_while *w)
{
    return w->steps.attr.steps <= MOST_STEPS && kept_of(w) <= MOST_KEPT;
}

static adz_status refuse_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)dx;
    (void)dy;
    return adzi_error(node->op->name, ADZ_ERR_UNSUPPORTED,
        "the backward in an exported function needs the carries of all steps, of which max_iterations allows more than %d, or %d elements; lower it",
        MOST_STEPS, MOST_KEPT);
}

static const adzi_op too_long = { .name = "adz_while", .backward = refuse_backward };
static const adzi_op in_onnx = { .name = "adz_while", .backward = adzi_traced_refuse_backward };

/* Gives the results a node that refuses the backward. Its inputs are the carries and what the body
 * has captured, so that a backward from the results to one of them comes to the node. */
static bool record_refused(const traced_while *w)
{
    adzi_thread *thread = adzi_self();
    const adzi_tracer *tracer = thread->tracer;
    const int n = (int)w->loop->n_carries;
    const size_t most = tracer->captured(tracer, w->steps.begin, NULL, 0);
    adz_tensor **sources = adzi_loop_list(w->loop->op, (size_t)n + most);
    if (sources == NULL) {
        return false;
    }
    if ((size_t)n + most > UINT16_MAX) {
        adzi_error(w->loop->op, ADZ_ERR_UNSUPPORTED,
            "%zu tensors have gradients; at most %d are possible", (size_t)n + most, UINT16_MAX);
        return false;
    }
    memcpy(sources, w->steps.outer, (size_t)n * sizeof *sources);
    const size_t all = (size_t)n + tracer->captured(tracer, w->steps.begin, sources + n, most);
    adzi_node *node = adzi_node_new(
        thread, tracer->of_step ? &too_long : &in_onnx, sources, (int)all, n, 0, NULL, 0);
    for (int k = 0; k < n && node != NULL; ++k) {
        if (adzi_traced_is_float(w->steps.found[k])) {
            adzi_node_attach(node, k, w->steps.found[k]);
        }
    }
    if (node != NULL) {
        adzi_node_release(thread, node);
    }
    return node != NULL;
}

/* ---- the region ------------------------------------------------------------------------------ */

static bool begin(traced_while *w)
{
    adzi_traced_steps *s = &w->steps;
    const char *op = w->loop->op;
    if (!adzi_traced_make_like(op, s->in, s->outer, s->n_carries)) {
        return false;
    }
    for (size_t k = 0; k < s->n_carries; ++k) {
        s->in[k]->requires_grad = s->records && adzi_traced_is_float(s->in[k]);
    }
    if (!adzi_traced_report(
            &adzi_op_while_loop, s->outer, s->n_carries, s->in, s->n_carries, &s->attr)) {
        return false;
    }
    adzi_traced_copy_all(s->in, s->outer, s->n_carries);
    adzi_region_ready();
    return true;
}

static bool test(traced_while *w)
{
    const adzi_tracer *tracer = adzi_self()->tracer;
    adz_tensor *truth = w->condition(w->loop->in, w->loop->user);
    if (truth == NULL) {
        (void)adzi_status(NULL); /* an error if the condition has recorded none */
        return false;
    }
    if (!adzi_loop_check_truth(w->loop->op, "the condition", truth) ||
        !adzi_traced_report(&adzi_op_while_test, &truth, 1, NULL, 0, &w->steps.attr)) {
        return false;
    }
    w->steps.begin = tracer->begun(tracer);
    w->sequence = adzi_self()->sequence;
    adzi_region_ready();
    return true;
}

/* Whether a result of the body is a tensor with a gradient that the body has captured. No call of
 * the body has it then, so the trace does not list it. */
static bool is_captured(const traced_while *w, const adz_tensor *y)
{
    bool own = y->node != NULL && y->node->sequence > w->sequence;
    for (size_t k = 0; k < w->steps.n_carries && !own; ++k) {
        own = y == w->steps.in[k];
    }
    return adzi_requires_grad(y) && !own;
}

/* Whether a gradient goes through the loop. */
static bool is_wanted(const traced_while *w)
{
    const adzi_traced_steps *s = &w->steps;
    const adzi_tracer *tracer = adzi_self()->tracer;
    bool wanted = adzi_traced_any_wants(s->outer, s->n_carries);
    for (size_t k = 0; k < s->n_carries && !wanted; ++k) {
        wanted = is_captured(w, s->out[k]);
    }
    return adzi_self()->grad_enabled && (wanted || tracer->captured(tracer, s->begin, NULL, 0) > 0);
}

/* The carries before each step, of which one stands for all. */
static bool make_kept(const traced_while *w)
{
    const adzi_traced_steps *s = &w->steps;
    const int64_t steps = s->attr.steps > 0 ? s->attr.steps : 1;
    bool good = true;
    for (size_t k = 0; k < s->n_carries && good; ++k) {
        s->out[s->n_carries + k] = s->in[k];
        s->found[s->n_carries + k] = adzi_traced_like(w->loop->op, s->in[k], 0, steps);
        good = s->found[s->n_carries + k] != NULL;
    }
    return good;
}

/* Ends the region. `keeps`: with the carries before each step. */
static bool end(traced_while *w, bool keeps)
{
    adzi_traced_steps *s = &w->steps;
    const char *op = w->loop->op;
    const size_t n = s->n_carries, n_in = keeps ? 2 * n : n;
    bool good = adzi_traced_make_like(op, s->found, s->out, n) && (!keeps || make_kept(w));
    s->found[n_in] = w->count = good ? adzi_scratch(op, ADZ_I64, 0, NULL) : NULL;
    s->found[n_in + 1] = w->ended = good ? adzi_scratch(op, ADZ_BOOL, 0, NULL) : NULL;
    if (w->count == NULL || w->ended == NULL ||
        !adzi_traced_report(&adzi_op_while_end, s->out, n_in, s->found, n_in + 2, &s->attr)) {
        return false;
    }
    adzi_traced_copy_all(s->found, s->out, n);
    for (size_t k = n; k < n_in; ++k) {
        adz_tensor first = adzi_traced_element(s->found[k], 0);
        adzi_copy(&first, s->out[k]);
    }
    adzi_fill(w->count, 1);
    adzi_fill(w->ended, 1);
    adzi_region_ready();
    return true;
}

static bool run(void *state)
{
    traced_while *w = state;
    adzi_loop *loop = w->loop;
    adzi_traced_steps *s = &w->steps;
    adzi_loop_name_step(loop, -1);
    if (!begin(w)) {
        return false;
    }
    memcpy(loop->in, s->in, s->n_carries * sizeof *s->in);
    if (!test(w) || !adzi_loop_step(loop, 0)) {
        return false;
    }
    memcpy(s->out, loop->out, s->n_carries * sizeof *s->out);
    const bool wanted = is_wanted(w), keeps = wanted && s->records && may_keep(w);
    if (!end(w, keeps)) {
        return false;
    }
    s->count = w->count;
    return !wanted || (keeps ? adzi_steps_record(s) : record_refused(w));
}

adz_status adzi_while_in_trace(adzi_loop *loop, adz_loop_condition condition,
    adz_tensor *const *carries, int64_t most, adz_tensor **results, adz_tensor **count,
    adz_tensor **ended)
{
    const size_t n = loop->n_carries;
    const adzi_thread *thread = adzi_self();
    traced_while w = { .loop = loop,
        .condition = condition,
        .steps = { .op = &adzi_while_node,
            .attr = { .steps = most, .carries = (int)n },
            .n_carries = n,
            .records = thread->grad_enabled && thread->tracer->of_step } };
    w.steps.outer = adzi_loop_list(loop->op, 6 * n + 2);
    if (w.steps.outer == NULL || !adzi_loop_begin(loop, carries)) {
        return adzi_status(NULL);
    }
    w.steps.in = w.steps.outer + n;
    w.steps.out = w.steps.in + n;
    w.steps.found = w.steps.out + 2 * n;
    memcpy(w.steps.outer, carries, n * sizeof *carries);
    if (!adzi_loop_run(loop, run, &w)) {
        return adzi_status(NULL);
    }
    memcpy(results, w.steps.found, n * sizeof *results);
    if (count != NULL) {
        *count = w.count;
    }
    if (ended != NULL) {
        *ended = w.ended;
    }
    return ADZ_OK;
}
