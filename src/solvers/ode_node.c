/* Makes a solution a node of the tape, with what its backward needs. */
#include "solvers/ode_node.h"

#include <string.h>

#include "base/alloc.h"

void adzi_ode_context_drop(adzi_ode_context *r)
{
    if (adzi_refs_drop(&r->refs)) {
        adzi_ode_graph_free(&r->graph);
        adzi_free(r->numbers, r->n_numbers * sizeof(double));
        adzi_free(r->ode.hits, (size_t)r->ode.n_hits * sizeof(adzi_ode_hit));
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
                "the function uses a tensor of %s, which wants a gradient, but did not use it when the equation was solved; it must use the same tensors in each call for the same time and state",
                adzi_text_shape(leaf));
        }
    }
    adzi_leaves_free(&others);
    return good;
}

static bool copy_hits(adzi_ode *to, const adzi_ode *from)
{
    const size_t bytes = (size_t)from->n_hits * sizeof *from->hits;
    to->hits = bytes > 0 ? adzi_alloc(bytes) : NULL;
    if (to->hits == NULL) {
        return bytes == 0 || adzi_fail_memory(from->e.op, bytes) != NULL;
    }
    to->n_hits = from->n_hits;
    memcpy(to->hits, from->hits, bytes);
    return true;
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
    r->ode.leaves = NULL;
    r->ode.hits = NULL;
    r->ode.n_hits = 0;
    if (!adzi_ode_graph_copy(&r->graph, ode, kept->graph)) {
        adzi_free(r, sizeof *r);
        return NULL;
    }
    if (!copy_hits(&r->ode, ode)) {
        recipe_free(&r);
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
    adz_tensor *const *leaves;
    const size_t n_leaves = adzi_ode_leaves_of(ode->leaves, &leaves), n = ode->e.n;
    const size_t count = ADZI_ODE_FIRST_ARGUMENT + n + n_leaves;
    const int64_t bytes[] = { (int64_t)(count * sizeof(adz_tensor *)) };
    adz_tensor *memory = adzi_scratch(ode->e.op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return false;
    }
    adz_tensor **inputs = (adz_tensor **)(void *)memory->data;
    bool wants = false;
    inputs[0] = y0;
    inputs[1] = ode->times;
    memcpy(inputs + ADZI_ODE_FIRST_ARGUMENT, ode->e.arguments, n * sizeof *inputs);
    for (size_t i = 0; i < n_leaves; ++i) {
        inputs[ADZI_ODE_FIRST_ARGUMENT + n + i] = leaves[i];
    }
    for (size_t i = 0; i < count; ++i) {
        wants = wants || adzi_requires_grad(inputs[i]);
    }
    return !wants || record(ode, kept, inputs, (int)count, results);
}
