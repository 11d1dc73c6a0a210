/* Makes a solution a node of the tape, with what its backward needs. */
#include "solvers/ode_node.h"

#include <string.h>

#include "base/alloc.h"

void adzi_ode_context_drop(adzi_ode_context *r)
{
    if (adzi_refs_drop(&r->refs)) {
        adzi_ode_graph_free(&r->graph);
        adzi_free(r->numbers, r->n_numbers * sizeof(double));
        adzi_free(r, sizeof *r);
    }
}

static void recipe_free(void *attributes)
{
    adzi_ode_context_drop(*(adzi_ode_context **)attributes);
}

static const adzi_op odeint_op = { .size = sizeof(adzi_op),
    .name = "odeint",
    .backward = adzi_ode_backward,
    .attributes_free = recipe_free };

bool adzi_ode_knows_leaves(const char *op, adz_tensor *y, adz_tensor *const *targets, size_t n,
    const adzi_node *node, const adzi_ode_graph *graph)
{
    adzi_leaves others = { NULL, 0, 0 };
    bool good = adzi_leaves_add(&others, op, y, targets, n);
    for (size_t i = 0; i < others.count && good; ++i) {
        const adz_tensor *leaf = others.items[i];
        good = graph != NULL && leaf == graph->y0;
        for (size_t k = 0; k < ADZ_SOLVER_ARGUMENTS && graph != NULL && !good; ++k) {
            good = leaf == graph->arguments[k];
        }
        for (int k = 0; k < node->n_inputs && !good; ++k) {
            good = node->inputs[k].leaf == leaf;
        }
        if (!good) {
            adzi_error(op, ADZ_ERR_UNSUPPORTED,
                "the function uses a tensor of %s, which wants a gradient, at some times only and not at the last one; make it an argument of the function",
                adzi_text_shape(leaf));
        }
    }
    adzi_leaves_free(&others);
    return good;
}

/* The leaves that the functions use at the last state. */
static bool note_leaves(const adzi_ode *ode, adz_tensor *y, adzi_leaves *leaves)
{
    adzi_ode at = *ode;
    if (!adzi_equation_detach(&at.e)) {
        return false;
    }
    memcpy(at.event.arguments, at.e.arguments, sizeof at.e.arguments);
    adz_tensor *times = adz_detach(ode->times);
    adz_tensor *t = times != NULL ? adz_select(times, 0, ode->n_times - 1) : NULL;
    at.mirrored = false; /* these times are the program's */
    adz_tensor *f = adzi_ode_slope(&at, t, y), *variables[] = { t, y };
    if (f == NULL || !adzi_leaves_add(leaves, at.e.op, f, NULL, 0)) {
        return false;
    }
    if (ode->event.function.call == NULL) {
        return true;
    }
    adz_tensor *g = adzi_equation_number(&at.event, variables, 2);
    return g != NULL && adzi_leaves_add(leaves, at.e.op, g, NULL, 0);
}

static adzi_ode_context *context_new(const adzi_ode *ode, const adzi_ode_kept *kept)
{
    adzi_ode_context *r = adzi_alloc_zero(sizeof *r);
    if (r == NULL) {
        return adzi_fail_memory(ode->e.op, sizeof *r);
    }
    r->refs = 1;
    r->ode = *ode;
    r->has_path = kept->path != NULL;
    r->stride = kept->stride;
    r->ode.times = NULL;
    r->ode.like = NULL;
    if (!adzi_ode_graph_copy(&r->graph, ode, kept->graph)) {
        adzi_free(r, sizeof *r);
        return NULL;
    }
    if (ode->fixed) {
        r->ode.at = r->ode.ends = NULL;
        return r;
    }
    r->n_numbers = (size_t)(2 * ode->n_steps + 1 + ode->n_times);
    r->numbers = adzi_alloc(r->n_numbers * sizeof(double));
    if (r->numbers == NULL) {
        adzi_fail_memory(ode->e.op, r->n_numbers * sizeof(double));
        recipe_free(&r);
        return NULL;
    }
    r->ode.ends = r->numbers;
    r->ode.at = r->numbers + ode->n_steps + 1;
    r->ode.orders = r->ode.at + ode->n_times;
    if (ode->o.method == ADZ_ODE_BDF) {
        memcpy(r->ode.orders, ode->orders, (size_t)ode->n_steps * sizeof(double));
    }
    memcpy(r->ode.ends, ode->ends, (size_t)(ode->n_steps + 1) * sizeof(double));
    memcpy(r->ode.at, ode->at, (size_t)ode->n_times * sizeof(double));
    return r;
}

static bool record(const adzi_ode *ode, const adzi_ode_kept *kept, adz_tensor **inputs,
    int n_inputs, adz_tensor **results)
{
    adzi_call call;
    const int n = adzi_ode_results(ode);
    adzi_ode_context *r = context_new(ode, kept);
    if (r == NULL) {
        return false;
    }
    if (!adzi_enter(&call, &odeint_op, "argument", inputs, n_inputs, 0) ||
        !adzi_record_extra(&call, n, results, ADZI_ODE_EXTRAS, &r, sizeof(adzi_ode_context *))) {
        recipe_free(&r);
        return false;
    }
    if (call.node == NULL) {
        recipe_free(&r);
        return true;
    }
    for (int i = 0; i < n_inputs; ++i) {
        adzi_save_input(&call, i);
    }
    adzi_save_extra(&call, ADZI_ODE_STATES, kept->states);
    if (kept->path != NULL) {
        adzi_save_extra(&call, ADZI_ODE_PATH, kept->path);
    }
    for (int i = 0; i < n; ++i) {
        if (adzi_leave(&call, results[i]) == NULL) {
            return false;
        }
    }
    return true;
}

bool adzi_ode_record(adzi_ode *ode, adz_tensor *y0, const adzi_ode_kept *kept, adz_tensor **results)
{
    adzi_leaves leaves = { NULL, 0, 0 };
    const bool event = ode->event.function.call != NULL;
    adz_tensor *last = event ? results[1] : adz_select(results[0], 0, ode->n_times - 1);
    last = last != NULL ? adz_clone(last) : NULL;
    bool good = last != NULL && note_leaves(ode, last, &leaves);
    const size_t count = ADZI_ODE_FIRST_ARGUMENT + ode->e.n + leaves.count;
    const int64_t bytes[] = { (int64_t)(count * sizeof(adz_tensor *)) };
    adz_tensor *memory = good ? adzi_scratch(ode->e.op, ADZ_U8, 1, bytes) : NULL;
    if (memory != NULL) {
        adz_tensor **inputs = (adz_tensor **)(void *)memory->data;
        bool wants = false;
        inputs[0] = y0;
        inputs[1] = ode->times;
        memcpy(inputs + ADZI_ODE_FIRST_ARGUMENT, ode->e.arguments, ode->e.n * sizeof *inputs);
        for (size_t i = 0; i < leaves.count; ++i) {
            inputs[ADZI_ODE_FIRST_ARGUMENT + ode->e.n + i] = leaves.items[i];
        }
        for (size_t i = 0; i < count; ++i) {
            wants = wants || adzi_requires_grad(inputs[i]);
        }
        good = !wants || record(ode, kept, inputs, (int)count, results);
    }
    adzi_leaves_free(&leaves);
    return good && memory != NULL;
}
