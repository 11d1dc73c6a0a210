/* Visits the nodes of a running backward from the newest to the oldest. */
#include "autograd/engine.h"

#include <stdio.h>
#include <string.h>

#include "autograd/delivery.h"
#include "autograd/leaf.h"
#include "autograd/op.h"
#include "autograd/operator.h"
#include "base/door.h"

/* Anomaly mode, after a backward: fails if a gradient is NaN or infinite although every gradient
 * that came in was finite. */
static bool check_finite(const adzi_node *node, adz_tensor *const *dx, adz_tensor *const *dy)
{
    for (int k = 0; k < node->n_results; ++k) {
        if (dy[k] != NULL && adzi_has_nonfinite(dy[k])) {
            return true; /* it came in from further up */
        }
    }
    for (int i = 0; i < node->n_inputs; ++i) {
        if (dx[i] != NULL && adzi_has_nonfinite(dx[i])) {
            adzi_text call = { 0 };
            adzi_error(node->op->name, ADZ_ERR_NUMERIC,
                "the backward of %s made NaN or infinity in the gradient of input %d",
                adzi_attr_text(&call, node->op, node->attr), i);
            adzi_text_free(&call);
            if (node->file != NULL) {
                adz_sited(NULL, node->file, node->line);
            }
            return false;
        }
    }
    return true;
}

/* Runs the hooks of a node's results, and keeps their gradients for adz_retain_grad and for
 * adz_autograd_grad. This happens before the backward of the node reads the gradients. */
static bool observe(adzi_run *run, adzi_node *node)
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
            if (slot == NULL || !adzi_run_deliver(run, &slot->grad, entry->grads[k])) {
                return false;
            }
        }
    }
    return true;
}

enum { STACK_INPUTS = 12 };

/* Retains the incoming gradients, so that the backward does not write its results over them:
 * check_finite reads them afterwards. */
static void retain_gradients(const adzi_node *node, adz_tensor *const *dy)
{
    for (int k = 0; k < node->n_results; ++k) {
        if (dy[k] != NULL) {
            adzi_retain(dy[k]);
        }
    }
}

static void release_gradients(const adzi_node *node, adz_tensor *const *dy)
{
    for (int k = 0; k < node->n_results; ++k) {
        adzi_drop(dy[k]);
    }
}

/* Ends calls inside this run that were left by a jump, before the run sets its own modes again. */
static void end_inner_calls(adzi_run *run)
{
    if (run->thread->n_frames > run->frame + 1) {
        adzi_frames_leave(run->thread, run->frame + 1);
    }
}

/* Calls a backward in anomaly mode. The mode is off while the backward runs, because check_finite
 * looks at its results and names this operator. */
static adz_status call_checked(adzi_run *run, adzi_node *node, adz_tensor **dx,
    adz_status (*backward)(adzi_node *, adz_tensor **, adz_tensor *const *))
{
    adz_tensor *const *dy = node->entry->grads;
    run->thread->anomaly = false;
    retain_gradients(node, dy);
    run->checked = node; /* if the backward is left by a jump, the end of the run releases them */
    adz_status status = backward(node, dx, dy);
    end_inner_calls(run);
    run->checked = NULL;
    release_gradients(node, dy);
    run->thread->anomaly = true;
    return status == ADZ_OK && !check_finite(node, dx, dy) ? adz_error_code() : status;
}

/* Adds to an error of a call inside a backward which recorded call that backward belongs to. An
 * error that names a recorded call already is left as it is. */
static void name_call(const adzi_node *node)
{
    adzi_error_record *error = &adzi_self()->error;
    if (strstr(error->text, "the backward of ") != NULL ||
        strstr(error->text, "the gradient of ") != NULL) {
        return;
    }
    const size_t length = strlen(error->text);
    adzi_text call = { 0 };
    snprintf(error->text + length, sizeof error->text - length, " (in the backward of %s)",
        adzi_attr_text(&call, node->op, node->attr));
    adzi_text_free(&call);
}

static bool call_backward(adzi_run *run, adzi_node *node)
{
    adz_tensor *on_stack[STACK_INPUTS], **dx = on_stack;
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
    if (run->thread->capture != NULL) {
        run->thread->capture->op = op->name;
    }
    const bool fused = op->fused != NULL && !run->create_graph && !run->express;
    adz_backward_function backward = fused                  ? op->fused
                                     : op->backward != NULL ? op->backward
                                                            : adzi_derived_backward;
    run->anomaly = run->thread->anomaly;
    const char *outer = adzi_trace_backward(run->thread->tracer, op->name);
    adz_status status = run->anomaly ? call_checked(run, node, dx, backward)
                                     : backward(node, dx, node->entry->grads);
    adzi_trace_backward(run->thread->tracer, outer);
    if (status != ADZ_OK) {
        adzi_callback_failed(op->name, status, "the backward failed");
        return false;
    }
    return adzi_deliver_inputs(run, node, dx);
}

/* Whether a gradient has come for some result of the node. */
static bool is_reached(const adzi_node *node)
{
    for (int k = 0; k < node->n_results; ++k) {
        if (node->entry->grads[k] != NULL) {
            return true;
        }
    }
    return false;
}

/* Calls the backward of a node, unless nothing came for it or nobody wants its result. */
static bool compute(adzi_run *run, adzi_node *node)
{
    adzi_entry *entry = node->entry;
    if (!is_reached(node)) {
        return true;
    }
    if ((node->watched || entry->captured) && !observe(run, node)) {
        return false;
    }
    if (!entry->wanted) {
        return true;
    }
    if (node->released) {
        adzi_error(node->op->name, ADZ_ERR_GRAPH,
            "this graph was released by an earlier backward; give that one retain_graph, or compute the forward again");
        return false;
    }
    size_t mark = run->thread->n_temporaries;
    bool ok = call_backward(run, node);
    if (!ok) {
        name_call(node);
    }
    adzi_scope_unwind(run->thread, mark);
    for (int k = 0, n = node->n_results; k < n; ++k) {
        adz_tensor *grad = entry->grads[k];
        entry->grads[k] = NULL;
        adzi_drop(grad);
    }
    if (ok && !run->keep_graph && node->saves) {
        node->released = true;
        adzi_node_release_saved(node);
    }
    return ok;
}

/* Counts down the leaves that the edges of a node lead to. A run with targets has counted the
 * leaves among them only. */
static bool count_down_leaves(adzi_run *run, const adzi_node *node)
{
    for (int i = 0, n = node->n_inputs; i < n; ++i) {
        const adz_tensor *leaf = node->inputs[i].leaf;
        adzi_leaf_slot *slot = leaf != NULL ? adzi_run_slot(run, leaf) : NULL;
        if (slot != NULL && !adzi_leaf_count_down(run, slot)) {
            return false;
        }
    }
    return true;
}

/* Counts down the leaves among the outputs, whose gradients have been delivered. */
static bool count_down_outputs(adzi_run *run, adz_tensor *const *outputs, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        adzi_leaf_slot *slot = outputs[i]->node == NULL ? adzi_run_slot(run, outputs[i]) : NULL;
        if (slot != NULL && !adzi_leaf_count_down(run, slot)) {
            return false;
        }
    }
    return true;
}

/* The nodes of adzi_run_within come up again in the loop of the run itself. */
static bool visit(adzi_run *run, adzi_node *node)
{
    if (node->entry->visited) {
        return true;
    }
    node->entry->visited = true;
    const bool ok = compute(run, node) && count_down_leaves(run, node);
    if (run->thread->after_node != NULL) {
        run->thread->after_node(run->thread->after_node_user);
    }
    return ok;
}

adzi_node_watch adzi_watch_nodes(adzi_node_watch watch)
{
    adzi_thread *thread = adzi_self();
    const adzi_node_watch before = { thread->after_node, thread->after_node_user };
    thread->after_node = watch.call;
    thread->after_node_user = watch.user;
    return before;
}

enum { AHEAD = 4 }; /* nodes are fetched into the cache this many visits before their own */

bool adzi_run_nodes(adzi_run *run, adz_tensor *const *outputs, size_t n)
{
    bool before = run->thread->grad_enabled;
    run->thread->grad_enabled = run->create_graph;
    bool ok = count_down_outputs(run, outputs, n);
    for (size_t i = 0; i < run->n_order && ok; ++i) {
        if (i + AHEAD < run->n_order) {
            const char *next = (const char *)run->order[i + AHEAD];
            __builtin_prefetch(next);
            __builtin_prefetch(next + 64);
            __builtin_prefetch(next + 128);
        }
        ok = visit(run, run->order[i]);
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
        adzi_run_mark_from(run, first, outputs, n);
    }
    run->keep_graph = run->create_graph; /* nobody else can reach what is found here */
    thread->grad_enabled = run->create_graph;
    thread->anomaly = anomaly;
    bool ok = true;
    for (size_t i = 0; i < n && ok; ++i) {
        ok = adzi_run_deliver_to(run, outputs[i], gradients[i]);
    }
    ok = ok && count_down_outputs(run, outputs, n);
    for (size_t i = first, last = run->n_order; i < last && ok; ++i) {
        ok = visit(run, run->order[i]);
    }
    thread->anomaly = false;
    thread->grad_enabled = recording;
    run->anomaly = anomaly;
    run->keep_graph = keep;
    return ok;
}
