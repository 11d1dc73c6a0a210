/* Backward, second half: visits the nodes of a run from the newest to the oldest. */
#include <string.h>

#include "autograd/engine.h"
#include "autograd/op.h"

/* ---- moving gradients --------------------------------------------------------------------------
 */

bool adzi_run_deliver(adzi_run *run, adz_tensor **slot, adz_tensor *t, size_t mark)
{
    adz_tensor *held = *slot;
    if (held == NULL) {
        *slot = adzi_scope_take(run->thread, mark, t);
        return true;
    }
    if (!run->create_graph && adzi_is_exclusive(held) && held->storage->deleter == NULL &&
        adzi_is_contiguous(held)) {
        adzi_accumulate(held, t); /* nobody else sees the sum, so it is added to in place */
        return true;
    }
    adz_tensor *sum = adz_add(held, t);
    if (sum == NULL) {
        return false;
    }
    adzi_retain(sum);
    adzi_drop(held);
    *slot = sum;
    return true;
}

bool adzi_run_deliver_to(adzi_run *run, adz_tensor *output, adz_tensor *t, size_t mark)
{
    if (output->node != NULL) {
        adz_tensor **slot = &output->node->entry->grads[output->result];
        return adzi_run_deliver(run, slot, t, mark);
    }
    adzi_leaf_slot *leaf = adzi_run_leaf(run, output, true);
    return leaf != NULL && adzi_run_deliver(run, &leaf->grad, t, mark);
}

/* Rank and sizes of a node's input. */
typedef struct {
    int rank;
    uint8_t dtype;
    const int64_t *sizes;
} form;

static inline bool has_form(const adz_tensor *t, form f)
{
    if (t->rank != f.rank || t->dtype != f.dtype || (f.rank > 0 && t->sizes[0] != f.sizes[0]) ||
        (f.rank > 1 && t->sizes[1] != f.sizes[1])) {
        return false;
    }
    for (int d = 2; d < f.rank; ++d) {
        if (t->sizes[d] != f.sizes[d]) {
            return false;
        }
    }
    return true;
}

/* A gradient that has not the shape of its input must have one that the input was broadcast to. */
static adz_tensor *fit(const adzi_node *node, int i, adz_tensor *t, form f)
{
    if (t->dtype != f.dtype) {
        return adzi_fail(node->op->name, ADZ_ERR_DTYPE,
            "the backward gave %s for input %d, which is %s", adz_dtype_name((adz_dtype)t->dtype),
            i, adz_dtype_name((adz_dtype)f.dtype));
    }
    bool fits = t->rank >= f.rank;
    for (int d = 0; d < f.rank && fits; ++d) {
        fits = f.sizes[d] == 1 || f.sizes[d] == t->sizes[d + t->rank - f.rank];
    }
    if (!fits) {
        return adzi_fail(node->op->name, ADZ_ERR_SHAPE,
            "the backward gave a gradient %s for input %d, which has shape %s", adzi_text_shape(t),
            i, adzi_text_sizes(f.rank, f.sizes));
    }
    return adzi_sum_to(t, adz_shape_of(f.rank, f.sizes));
}

static bool hunt_nan(const adzi_node *node, adz_tensor *const *dx, adz_tensor *const *dy)
{
    for (int k = 0; k < node->n_results; ++k) {
        if (dy[k] != NULL && adzi_has_nonfinite(dy[k])) {
            return true; /* it came in from further up */
        }
    }
    for (int i = 0; i < node->n_inputs; ++i) {
        if (dx[i] != NULL && adzi_has_nonfinite(dx[i])) {
            adzi_error(node->op->name, ADZ_ERR_NUMERIC,
                "the backward of %s made NaN or infinity in the gradient of input %d",
                node->op->name, i);
            if (node->file != NULL) {
                adz_sited(NULL, node->file, node->line);
            }
            return false;
        }
    }
    return true;
}

/* Whether some gradient may be that of several inputs, between which a slot is written to: then a
 * slot must not be its only owner. With two inputs nothing comes between. */
static inline bool comes_twice(adz_tensor *const *dx, int n)
{
    if (n != 3) {
        return n > 3;
    }
    return (dx[0] == dx[1]) | (dx[0] == dx[2]) | (dx[1] == dx[2]);
}

static bool send(adzi_run *run, adzi_node *node, adz_tensor **dx, size_t mark)
{
    const int n = node->n_inputs;
    if (comes_twice(dx, n)) {
        mark = SIZE_MAX;
    }
    for (int i = 0; i < n; ++i) {
        adz_tensor *t = dx[i];
        if (t == NULL || (node->targeted && !adzi_needs(node, i))) {
            continue;
        }
        const adzi_edge *edge = &node->inputs[i];
        adz_tensor **slot;
        form f;
        if (edge->leaf != NULL) {
            adzi_leaf_slot *leaf = adzi_run_leaf(run, edge->leaf, false);
            if (leaf == NULL) {
                return false;
            }
            f = (form){ edge->leaf->rank, edge->leaf->dtype, edge->leaf->sizes };
            slot = &leaf->grad;
        } else if (edge->node != NULL) {
            const adzi_result *r = &edge->node->results[edge->result];
            f = (form){ r->rank, r->dtype, r->sizes };
            slot = &edge->node->entry->grads[edge->result];
        } else {
            continue;
        }
        if (!has_form(t, f) && (t = fit(node, i, t, f)) == NULL) {
            return false;
        }
        if (!adzi_run_deliver(run, slot, t, mark)) {
            return false;
        }
    }
    return true;
}

/* Hooks, retain_grad and captured results: what happens to a gradient before it is used. */
static bool arrive(adzi_run *run, adzi_node *node)
{
    adzi_entry *entry = node->entry;
    for (int k = 0; k < node->n_results; ++k) {
        adzi_result *r = &node->results[k];
        if (entry->grads[k] == NULL) {
            continue;
        }
        if (r->hooks != NULL &&
            adzi_hooks_run(node->op->name, r->hooks, &entry->grads[k]) != ADZ_OK) {
            return false;
        }
        if (entry->captured) {
            for (size_t i = 0; i < run->n_targets; ++i) {
                if (run->targets[i]->node == node && (int)run->targets[i]->result == k) {
                    run->found[i] = adzi_retain(entry->grads[k]);
                }
            }
        }
        if (r->retains != NULL && run->targets == NULL) {
            adzi_leaf_slot *slot = adzi_run_leaf(run, r->retains, true);
            if (slot == NULL ||
                !adzi_run_deliver(run, &slot->grad, entry->grads[k], run->thread->n_temporaries)) {
                return false;
            }
        }
    }
    return true;
}

enum { STACK_INPUTS = 12 };

/* A gradient that somebody else holds is not written over: hunt_nan compares it with the result. */
static void hold(const adzi_node *node, adz_tensor *const *dy)
{
    for (int k = 0; k < node->n_results; ++k) {
        if (dy[k] != NULL) {
            adzi_retain(dy[k]);
        }
    }
}

static void let_go(const adzi_node *node, adz_tensor *const *dy)
{
    for (int k = 0; k < node->n_results; ++k) {
        adzi_drop(dy[k]);
    }
}

/* Calls inside this run that were left by a jump, and have not been missed, end before it sets its
 * own modes again. */
static inline void end_inner_calls(adzi_run *run)
{
    if (run->thread->n_frames > run->frame + 1) {
        adzi_frames_leave(run->thread, run->frame + 1);
    }
}

/* With the hunt off while the backward runs: hunt_nan looks at the result and names this operator.
 */
static adz_status call_hunting(adzi_run *run, adzi_node *node, adz_tensor **dx,
    adz_status (*backward)(adzi_node *, adz_tensor **, adz_tensor *const *))
{
    adz_tensor *const *dy = node->entry->grads;
    run->thread->anomaly = false;
    hold(node, dy);
    run->hunted = node; /* until then, a jump out of the backward leaves it to the run's end */
    adz_status status = backward(node, dx, dy);
    end_inner_calls(run);
    run->hunted = NULL;
    let_go(node, dy);
    run->thread->anomaly = true;
    return status == ADZ_OK && !hunt_nan(node, dx, dy) ? adz_error_code() : status;
}

static bool call_backward(adzi_run *run, adzi_node *node, size_t mark)
{
    adz_tensor *few[STACK_INPUTS], **dx = few;
    const int n = node->n_inputs;
    if (n > STACK_INPUTS) {
        dx = adzi_run_alloc(run, (size_t)n * sizeof *dx);
        if (dx == NULL) {
            return false;
        }
    }
    for (int i = 0; i < n; ++i) {
        dx[i] = NULL;
    }
    const adzi_op *op = node->op;
    adz_status (*backward)(adzi_node *, adz_tensor **, adz_tensor *const *) =
        op->fused != NULL && !run->create_graph ? op->fused : op->backward;
    run->anomaly = run->thread->anomaly;
    adz_status status = run->anomaly ? call_hunting(run, node, dx, backward)
                                     : backward(node, dx, node->entry->grads);
    if (status != ADZ_OK) {
        if (adz_error_code() == ADZ_OK) {
            adzi_error(op->name, status, "the backward failed");
        }
        return false;
    }
    return send(run, node, dx, mark);
}

/* Whether a gradient has come for another result than the first. */
static bool reaches_another(const adzi_node *node)
{
    for (int k = 1; k < node->n_results; ++k) {
        if (node->entry->grads[k] != NULL) {
            return true;
        }
    }
    return false;
}

static bool visit(adzi_run *run, adzi_node *node)
{
    adzi_entry *entry = node->entry;
    if (entry->grads[0] == NULL && !reaches_another(node)) {
        return true;
    }
    if ((node->watched || entry->captured) && !arrive(run, node)) {
        return false;
    }
    if (!entry->wanted) {
        return true;
    }
    if (node->released) {
        adzi_error(node->op->name, ADZ_ERR_GRAPH,
            "this graph was released by an earlier backward; give that one retain_graph, or "
            "compute "
            "the forward again");
        return false;
    }
    size_t mark = run->thread->n_temporaries;
    bool ok = call_backward(run, node, mark);
    adzi_scope_unwind(run->thread, mark);
    for (int k = 0, n = node->n_results; k < n; ++k) {
        adz_tensor *grad = entry->grads[k];
        entry->grads[k] = NULL;
        adzi_drop(grad);
    }
    if (ok && !run->keep_graph && node->saves) {
        node->released = true;
        adzi_node_drop_saved(node);
    }
    return ok;
}

enum { AHEAD = 4 }; /* nodes of a graph larger than the cache are fetched so much earlier */

bool adzi_run_nodes(adzi_run *run)
{
    bool before = run->thread->grad_enabled, ok = true;
    run->thread->grad_enabled = run->create_graph;
    for (size_t i = 0; i < run->n_order && ok; ++i) {
        if (i + AHEAD < run->n_order) {
            const char *next = (const char *)run->order[i + AHEAD];
            __builtin_prefetch(next);
            __builtin_prefetch(next + 64);
            __builtin_prefetch(next + 128);
        }
        ok = visit(run, run->order[i]);
    }
    for (adzi_leaf_slot *s = run->leaves; s != NULL && ok; s = s->next) {
        if (s->grad != NULL && s->leaf->node == NULL && s->leaf->gradient->hooks != NULL) {
            ok = adzi_hooks_run(adzi_backward_name, s->leaf->gradient->hooks, &s->grad) == ADZ_OK;
        }
    }
    end_inner_calls(run);
    run->thread->grad_enabled = before;
    return ok;
}

bool adzi_run_within(
    adzi_node *node, adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n)
{
    adzi_run *run = node->entry->run;
    adzi_thread *thread = run->thread;
    size_t first = run->n_order;
    bool keep = run->keep_graph, recording = thread->grad_enabled, anomaly = run->anomaly;
    if (!adzi_run_discover(run, outputs, n)) {
        return false;
    }
    if (run->targets != NULL) {
        adzi_run_mark_from(run, first);
    }
    run->keep_graph = run->create_graph; /* nobody else can reach what is found here */
    thread->grad_enabled = run->create_graph;
    thread->anomaly = anomaly;
    bool ok = true;
    for (size_t i = 0; i < n && ok; ++i) {
        ok = adzi_run_deliver_to(run, outputs[i], gradients[i], thread->n_temporaries);
    }
    for (size_t i = first, last = run->n_order; i < last && ok; ++i) {
        ok = visit(run, run->order[i]);
    }
    thread->anomaly = false;
    thread->grad_enabled = recording;
    run->anomaly = anomaly;
    run->keep_graph = keep;
    return ok;
}
