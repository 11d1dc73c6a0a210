/* The backward of operators that have none: calls the operator's expression on copies of the saved
 * inputs, and differentiates that. */
#include "autograd/op.h"
#include "autograd/operator.h"

enum { MOST = 32 };

/* What the expression is called with, and what is asked of it. */
typedef struct {
    adz_tensor *in[MOST];
    adz_tensor *wanted[MOST], *found[MOST]; /* the inputs among `in` that need a gradient */
    int n_wanted;
    adz_tensor *results[MOST];
    adz_tensor *outputs[MOST], *upstream[MOST]; /* the results that received a gradient */
    int n_outputs;
} derivation;

/* Copies the saved inputs. In a graph of the backward the copies are clones, which lead to the
 * inputs. Otherwise they are leaves. In both cases a path from one input to another outside the
 * operator does not count. */
static bool copy_inputs(adzi_node *node, derivation *d, bool graph)
{
    for (int i = 0; i < node->n_inputs; ++i) {
        d->in[i] = ADZ_NONE;
        if (node->inputs[i].saved == NULL) {
            continue; /* it was left out */
        }
        adz_tensor *saved = adzi_saved_input(node, i);
        const bool wanted = adzi_needs(node, i);
        d->in[i] = wanted && graph ? adz_clone(saved) : adz_detach(saved);
        if (d->in[i] == NULL) {
            return false;
        }
        if (wanted) {
            d->in[i]->requires_grad = d->in[i]->requires_grad || !graph;
            d->wanted[d->n_wanted++] = d->in[i];
        }
    }
    return true;
}

static bool compute(adzi_node *node, derivation *d, adz_tensor *const *dy)
{
    if (!adzi_call_expression(node->op, d->results, d->in, adz_node_attributes(node))) {
        return false;
    }
    for (int k = 0; k < node->n_results; ++k) {
        adz_tensor *y = d->results[k];
        if (dy[k] != NULL && !adzi_check_tensor(node->op->name, "a result of the expression", y)) {
            return false;
        }
        if (dy[k] != NULL && adzi_requires_grad(y)) {
            d->outputs[d->n_outputs] = y;
            d->upstream[d->n_outputs++] = dy[k];
        }
    }
    return true;
}

/* Calls the expression while the thread records. This function is not inlined, because ADZI_FLOOR
 * needs a stack frame of its own. */
static __attribute__((noinline)) bool compute_recorded(
    adzi_node *node, derivation *d, adz_tensor *const *dy)
{
    adzi_thread *thread = adzi_self();
    const size_t frame = adzi_frame_begin(thread, ADZI_FLOOR(), NULL);
    if (frame == SIZE_MAX) {
        adzi_fail_memory(node->op->name, sizeof(adzi_frame));
        return false;
    }
    thread->grad_enabled = true;
    const bool good = compute(node, d, dy);
    adzi_frames_leave(thread, frame);
    return good;
}

adz_status adzi_derived_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    derivation d = { .n_wanted = 0 };
    const bool graph = adzi_self()->grad_enabled;
    if (!copy_inputs(node, &d, graph) || !compute_recorded(node, &d, dy)) {
        return adzi_status(NULL);
    }
    if (d.n_outputs == 0 || d.n_wanted == 0) {
        return ADZ_OK;
    }
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.create_graph = graph;
    options.allow_unused = true;
    const adz_status status = adz_autograd_grad(d.outputs, d.upstream, (size_t)d.n_outputs,
        d.wanted, d.found, (size_t)d.n_wanted, &options);
    for (int i = 0, k = 0; i < node->n_inputs && status == ADZ_OK; ++i) {
        if (k < d.n_wanted && d.in[i] == d.wanted[k]) {
            dx[i] = d.found[k] == ADZ_NONE ? NULL : d.found[k];
            ++k;
        }
    }
    return status;
}
