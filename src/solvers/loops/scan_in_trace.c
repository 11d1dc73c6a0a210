/* Scans as regions of a trace, and the nodes of traced loops.
 *
 * The results of a node are those of the loop, and in addition the carries before each step, which
 * the backward reads: Note [The gradient of a traced loop] in backward_in_trace.c. */
#include <string.h>

#include "adze/ops.h"
#include "solvers/loops/in_trace.h"

const adzi_op adzi_scan_node = { .name = "adz_scan", .backward = adzi_steps_backward };

/* ---- the region ------------------------------------------------------------------------------ */

/* Makes the tensors of a step that are not there yet. */
static bool make_step(const adzi_traced_steps *s, bool *made)
{
    const size_t n = s->n_carries + s->n_inputs;
    bool good = true;
    for (size_t k = 0; k < n && good; ++k) {
        made[k] = s->in[k] == NULL;
        if (made[k]) {
            s->in[k] = adzi_traced_like(s->op->name, s->outer[k], k < s->n_carries ? 0 : 1, -1);
            good = s->in[k] != NULL;
        }
        if (good && made[k] && s->records && adzi_traced_is_float(s->in[k])) {
            s->in[k]->requires_grad = true;
        }
    }
    return good;
}

/* Gives the new tensors of a step the elements of the first one. */
static void fill_step(const adzi_traced_steps *s, const bool *made)
{
    for (size_t k = 0; k < s->n_carries + s->n_inputs; ++k) {
        if (made[k] && k < s->n_carries) {
            adzi_copy(s->in[k], s->outer[k]);
        } else if (made[k] && s->attr.steps > 0) {
            const bool last = s->attr.reverse && s->count == NULL;
            const adz_tensor first = adzi_traced_element(s->outer[k], last ? s->attr.steps - 1 : 0);
            adzi_copy(s->in[k], &first);
        } else if (made[k]) {
            adzi_fill(s->in[k], 0);
        }
    }
}

/* The number of steps comes behind the carries and inputs. */
static bool report_begin(const adzi_traced_steps *s, size_t n)
{
    adz_tensor **all = adzi_loop_list(s->op->name, n + 1);
    if (all == NULL) {
        return false;
    }
    memcpy(all, s->outer, n * sizeof *all);
    all[n] = s->count;
    return adzi_traced_report(
        &adzi_op_scan, all, n + (s->count != NULL ? 1 : 0), s->in, n, &s->attr);
}

bool adzi_steps_begin(adzi_traced_steps *s)
{
    const size_t n = s->n_carries + s->n_inputs;
    adz_tensor *room = adzi_scratch(s->op->name, ADZ_BOOL, 1, &(int64_t){ (int64_t)n });
    if (room == NULL || !make_step(s, (bool *)room->data) || !report_begin(s, n)) {
        return false;
    }
    const adzi_tracer *tracer = adzi_self()->tracer;
    s->begin = tracer->begun(tracer);
    fill_step(s, (bool *)room->data);
    adzi_region_ready();
    return true;
}

static size_t count_found(const adzi_traced_steps *s)
{
    return s->n_carries + s->n_results + (s->records ? s->n_carries : 0);
}

bool adzi_steps_end(adzi_traced_steps *s)
{
    const size_t n = s->n_carries, all = count_found(s);
    bool good = true;
    if (s->records && n > 0) {
        memcpy(s->out + n + s->n_results, s->in, n * sizeof *s->in);
    }
    for (size_t k = 0; k < all && good; ++k) {
        s->found[k] = adzi_traced_like(s->op->name, s->out[k], 0, k < n ? -1 : s->attr.steps);
        good = s->found[k] != NULL;
    }
    if (!good || !adzi_traced_report(&adzi_op_scan_end, s->out, all, s->found, all, &s->attr)) {
        return false;
    }
    for (size_t k = 0; k < all; ++k) {
        const int64_t steps = s->count != NULL ? 1 : s->attr.steps; /* one stands for all */
        for (int64_t t = 0; k >= n && t < steps; ++t) {
            adz_tensor to = adzi_traced_element(s->found[k], t);
            adzi_copy(&to, s->out[k]);
        }
        if (k < n) {
            adzi_copy(s->found[k], s->out[k]);
        }
    }
    adzi_region_ready();
    return true;
}

/* ---- the node -------------------------------------------------------------------------------- */

/* Saves what the backward needs: the inputs, what was captured, all carries, and the ends of the
 * graph of the body. */
static void save(
    const adzi_traced_steps *s, adzi_node *node, adz_tensor *const *sources, int n_sources)
{
    const int n_in = (int)(s->n_carries + s->n_inputs);
    const int n_out = (int)(s->n_carries + s->n_results);
    for (int i = (int)s->n_carries; i < n_sources; ++i) {
        adzi_node_save_input(node, i, sources[i]);
    }
    for (int k = 0; k < n_in; ++k) {
        adzi_node_save_extra(node, k, s->in[k]);
    }
    for (int k = 0; k < n_out; ++k) {
        adzi_node_save_extra(node, n_in + k, s->out[k]);
    }
    for (int k = 0; k < (int)s->n_carries; ++k) {
        if (adzi_traced_is_float(s->found[n_out + k])) {
            adzi_node_save_result(node, n_out + k, s->found[n_out + k]);
        } else { /* no result of the node */
            adzi_node_save_extra(node, n_in + n_out + k, s->found[n_out + k]);
        }
    }
    if (s->count != NULL) {
        adzi_node_save_extra(node, n_in + n_out + (int)s->n_carries, s->count);
    }
}

static bool make_node(const adzi_traced_steps *s, adz_tensor *const *sources, size_t n_sources)
{
    adzi_thread *thread = adzi_self();
    const size_t n_in = s->n_carries + s->n_inputs, n = count_found(s);
    const adzi_recorded_steps attr = { thread->tracer->number, s->begin, s->attr.steps,
        (int)s->n_carries, (int)s->n_inputs, (int)s->n_results, (int)(n_sources - n_in),
        s->attr.reverse, s->count != NULL };
    if (n_sources > UINT16_MAX || n > UINT16_MAX || n_in + n >= UINT16_MAX) {
        adzi_error(s->op->name, ADZ_ERR_UNSUPPORTED,
            "%zu tensors have gradients; at most %d are possible", n_sources, UINT16_MAX);
        return false;
    }
    adzi_node *node = adzi_node_new(
        thread, s->op, sources, (int)n_sources, (int)n, (int)(n_in + n + 1), &attr, sizeof attr);
    if (node == NULL) {
        return false;
    }
    for (size_t k = 0; k < n; ++k) {
        if (adzi_traced_is_float(s->found[k])) {
            adzi_node_attach(node, (int)k, s->found[k]);
        }
    }
    save(s, node, sources, (int)n_sources);
    adzi_node_release(thread, node);
    return true;
}

/* Gives the results a node if a carry, an input or something captured wants a gradient. */
bool adzi_steps_record(const adzi_traced_steps *s)
{
    const adzi_tracer *tracer = adzi_self()->tracer;
    const size_t n = s->n_carries + s->n_inputs;
    const size_t most = s->records ? tracer->captured(tracer, s->begin, NULL, 0) : 0;
    adz_tensor **sources = s->records ? adzi_loop_list(s->op->name, n + most) : NULL;
    if (sources == NULL) {
        return !s->records;
    }
    memcpy(sources, s->outer, n * sizeof *sources);
    const size_t all = n + tracer->captured(tracer, s->begin, sources + n, most);
    return !adzi_traced_any_wants(sources, all) || make_node(s, sources, all);
}

/* ---- the scan -------------------------------------------------------------------------------- */

typedef struct called_scan {
    adzi_loop *loop;
    adzi_traced_steps *scan;
} called_scan;

static bool run(void *state)
{
    const called_scan *c = state;
    adzi_traced_steps *s = c->scan;
    const size_t n_in = s->n_carries + s->n_inputs, n_out = s->n_carries + s->n_results;
    adzi_loop_name_step(c->loop, -1);
    if (!adzi_steps_begin(s)) {
        return false;
    }
    memcpy(c->loop->in, s->in, n_in * sizeof *s->in);
    if (!adzi_loop_step(c->loop, 0)) {
        return false;
    }
    memcpy(s->out, c->loop->out, n_out * sizeof *s->out);
    return adzi_steps_end(s);
}

adz_status adzi_scan_in_trace(adzi_loop *loop, adz_tensor *const *carries,
    adz_tensor *const *inputs, int64_t length, bool reverse, adz_tensor **results)
{
    const size_t n = loop->n_carries, n_in = n + loop->n_inputs, n_out = n + loop->n_results;
    adzi_traced_steps s = { .op = &adzi_scan_node,
        .attr = { length, (int)n, reverse },
        .n_carries = n,
        .n_inputs = loop->n_inputs,
        .n_results = loop->n_results,
        .records = adzi_self()->grad_enabled };
    s.outer = adzi_loop_list(loop->op, 2 * (n_in + n_out + n) + 1);
    if (s.outer == NULL || !adzi_loop_begin(loop, carries)) {
        return adzi_status(NULL);
    }
    s.in = s.outer + n_in;
    s.out = s.in + n_in;
    s.found = s.out + n_out + n;
    for (size_t k = 0; k < n_in; ++k) {
        s.outer[k] = k < n ? carries[k] : inputs[k - n];
    }
    if (!adzi_loop_run(loop, run, &(called_scan){ loop, &s }) || !adzi_steps_record(&s)) {
        return adzi_status(NULL);
    }
    memcpy(results, s.found, n_out * sizeof *results);
    return ADZ_OK;
}
