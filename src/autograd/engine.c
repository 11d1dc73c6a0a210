/* Backward, second half: visits the nodes of a run from the newest to the oldest. */
#include <string.h>

#include "autograd/engine.h"
#include "autograd/op.h"

/* ---- moving gradients --------------------------------------------------------------------------
 */

/* Adds `t`, borrowed, to what a slot holds. A sum that only we hold is added to in place. */
bool adzi_run_deliver(adzi_run *run, adz_tensor **slot, adz_tensor *t, size_t mark)
{
    if (*slot == NULL) {
        *slot = adzi_scope_take(run->thread, mark, t);
        return true;
    }
    adz_tensor *held = *slot;
    if (!run->create_graph && adzi_is_exclusive(held) && held->storage->deleter == NULL &&
        adzi_is_contiguous(held)) {
        adzi_accumulate(held, t);
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

/* A gradient must have the shape of its input, or one that the input was broadcast to. */
static adz_tensor *fit(const adzi_node *node, int i, adz_tensor *t)
{
    const adzi_edge *edge = &node->inputs[i];
    const adzi_result *r = edge->node != NULL ? &edge->node->results[edge->result] : NULL;
    int rank = r != NULL ? r->rank : edge->leaf->rank;
    const int64_t *sizes = r != NULL ? r->sizes : edge->leaf->sizes;
    uint8_t dtype = r != NULL ? r->dtype : edge->leaf->dtype;
    if (t->dtype != dtype) {
        return adzi_fail(node->op->name, ADZ_ERR_DTYPE,
            "the backward gave %s for input %d, which is %s", adz_dtype_name((adz_dtype)t->dtype),
            i, adz_dtype_name((adz_dtype)dtype));
    }
    bool same = t->rank == rank;
    for (int d = 0; d < rank && same; ++d) {
        same = t->sizes[d] == sizes[d];
    }
    if (same) {
        return t;
    }
    bool fits = t->rank >= rank;
    for (int d = 0; d < rank && fits; ++d) {
        fits = sizes[d] == 1 || sizes[d] == t->sizes[d + t->rank - rank];
    }
    if (!fits) {
        return adzi_fail(node->op->name, ADZ_ERR_SHAPE,
            "the backward gave a gradient %s for input %d, which has shape %s", adzi_text_shape(t),
            i, adzi_text_sizes(rank, sizes));
    }
    return adzi_sum_to(t, adz_shape_of(rank, sizes));
}

static bool hunt_nan(
    const adzi_run *run, const adzi_node *node, adz_tensor *const *dx, adz_tensor *const *dy)
{
    if (!run->thread->anomaly) {
        return true;
    }
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

enum { TAKE_FROM = 4 }; /* inputs, at most, of a node whose backward's results are looked through */

/* Whether dx[i] comes again: then a slot must not be its only owner, which may write to it. */
static bool comes_again(const adzi_node *node, adz_tensor *const *dx, int i)
{
    bool again = node->n_inputs > TAKE_FROM;
    for (int j = i + 1; j < node->n_inputs && !again; ++j) {
        again = dx[j] == dx[i];
    }
    return again;
}

static bool send(adzi_run *run, adzi_node *node, adz_tensor **dx, size_t mark)
{
    for (int i = 0, n = node->n_inputs; i < n; ++i) {
        if (dx[i] == NULL || !adzi_needs(node, i)) {
            continue;
        }
        adz_tensor *t = fit(node, i, dx[i]);
        if (t == NULL) {
            return false;
        }
        adzi_edge *edge = &node->inputs[i];
        adz_tensor **slot;
        if (edge->node != NULL) {
            slot = &edge->node->entry->grads[edge->result];
        } else {
            adzi_leaf_slot *leaf = adzi_run_leaf(run, edge->leaf, false);
            if (leaf == NULL) {
                return false;
            }
            slot = &leaf->grad;
        }
        size_t from = comes_again(node, dx, i) ? run->thread->n_temporaries : mark;
        if (!adzi_run_deliver(run, slot, t, from)) {
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

static bool call_backward(adzi_run *run, adzi_node *node, size_t mark)
{
    adz_tensor *few[STACK_INPUTS], **dx = few;
    if (node->n_inputs > STACK_INPUTS) {
        dx = adzi_run_alloc(run, (size_t)node->n_inputs * sizeof *dx);
        if (dx == NULL) {
            return false;
        }
    }
    for (int i = 0, n = node->n_inputs; i < n; ++i) {
        dx[i] = NULL;
    }
    const adzi_op *op = node->op;
    adz_tensor *const *dy = node->entry->grads;
    bool anomaly = run->thread->anomaly;
    run->anomaly = anomaly;
    run->thread->anomaly = false; /* hunt_nan looks at the result and names this operator */
    if (anomaly) {
        hold(node, dy);
    }
    adz_status status = op->fused != NULL && !run->create_graph ? op->fused(node, dx, dy)
                                                                : op->backward(node, dx, dy);
    if (anomaly) {
        let_go(node, dy);
    }
    run->thread->anomaly = anomaly;
    if (status != ADZ_OK) {
        if (adz_error_code() == ADZ_OK) {
            adzi_error(op->name, status, "the backward failed");
        }
        return false;
    }
    return hunt_nan(run, node, dx, dy) && send(run, node, dx, mark);
}

static bool visit(adzi_run *run, adzi_node *node)
{
    adzi_entry *entry = node->entry;
    bool any = false;
    for (int k = 0; k < node->n_results; ++k) {
        any = any || entry->grads[k] != NULL;
    }
    if (!any || !arrive(run, node)) {
        return !any;
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
    for (int k = 0; k < node->n_results; ++k) {
        adzi_drop(entry->grads[k]);
        entry->grads[k] = NULL;
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
    run->thread->grad_enabled = before;
    return ok;
}

static bool deliver_all(
    adzi_run *run, adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        adz_tensor *y = outputs[i];
        adzi_leaf_slot *leaf = y->node == NULL ? adzi_run_leaf(run, y, true) : NULL;
        if (y->node == NULL && leaf == NULL) {
            return false;
        }
        adz_tensor **slot = leaf != NULL ? &leaf->grad : &y->node->entry->grads[y->result];
        if (!adzi_run_deliver(run, slot, gradients[i], run->thread->n_temporaries)) {
            return false;
        }
    }
    return true;
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
    bool ok = deliver_all(run, outputs, gradients, n);
    for (size_t i = first, last = run->n_order; i < last && ok; ++i) {
        ok = visit(run, run->order[i]);
    }
    thread->anomaly = false;
    thread->grad_enabled = recording;
    run->anomaly = anomaly;
    run->keep_graph = keep;
    return ok;
}
