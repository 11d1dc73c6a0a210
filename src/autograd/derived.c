/* The backward of operators that have none: calls the operator's expression on the saved inputs,
 * and differentiates that.
 *
 * Note [The derived backward]
 * An operator states its mathematics once, as the expression of its forward. A fused backward may
 * serve first gradients. The backward with create_graph, and that of a trace, is
 * derived from the expression. It reads what the node has saved for the fused backward and nothing
 * else, so it costs no training step memory:
 *
 * - A saved input is given to the expression as a view with its own position in the graph. So
 * a path from one input to another outside the operator does not count.
 * - An input that needs a gradient and was not saved has a derivative that does not depend on its
 *   value: the operator is linear in it. Zeros replace it.
 * - Any other input that was not saved is left out, as ADZ_NONE. An operator whose derivative
 *   depends on such an input has its own backward.
 * - What was drawn is not drawn again. The expression finds the mask that the node has saved by
 *   adzi_derived_extra.
 *
 * What the expression computes is released before its derivative is computed, except for what its
 * nodes have saved. Two things would be kept without need, and are not: the result of a log_softmax
 * inside the expression, and the products with the gradient of 1 in adzi_derived_slope. */
#include "autograd/op.h"
#include "autograd/operators.h"
#include "autograd/operator.h"
#include "base/door.h"

enum { MOST = 32 };

/* What the expression is called with, and what is asked of it. */
typedef struct {
    adz_tensor *in[MOST];
    adz_tensor *wanted[MOST], *found[MOST]; /* the inputs among `in` that need a gradient */
    int n_wanted;
    adz_tensor *outputs[MOST], *upstream[MOST]; /* the results that received a gradient */
    int n_outputs;
} derivation;

/* A tensor of one number, which takes the memory of one element. */
static adz_tensor *filled(double number, adz_shape shape, adz_dtype dtype)
{
    return adz_expand(adz_full(adz_shape_of(0, NULL), number, dtype), shape);
}

/* Zeros shaped like input i of the node, which the node has not saved. */
static adz_tensor *zeros_for(const adzi_node *node, int i)
{
    const adzi_edge *edge = &node->inputs[i];
    const adz_dtype dtype = (adz_dtype)(edge->node != NULL ? edge->node->results[edge->result].dtype
                                                           : edge->leaf->dtype);
    return filled(0, adzi_input_shape(node, i), dtype);
}

/* Input i for the expression. In a graph of the backward it is a view that leads to the input, also
 * if no gradient of this input is asked for: the other gradients depend on it. Otherwise, and if
 * the input is not a part of a graph any more, it is a leaf. */
static adz_tensor *input_for(adzi_node *node, int i, bool wanted, bool graph)
{
    const bool is_saved = node->inputs[i].saved != NULL || node->inputs[i].recomputed;
    if (!is_saved && !wanted) {
        return ADZ_NONE;
    }
    adz_tensor *value = is_saved ? adzi_saved_input(node, i) : zeros_for(node, i);
    if (value == NULL) {
        return NULL;
    }
    const bool leads = is_saved && graph && adzi_requires_grad(value);
    adz_tensor *t =
        leads ? adz_expand(value, adz_shape_of(value->rank, value->sizes)) : adz_detach(value);
    if (t != NULL && wanted && !leads) {
        t->requires_grad = true;
    }
    return t;
}

static bool take_inputs(adzi_node *node, derivation *d, bool graph)
{
    for (int i = 0; i < node->n_inputs; ++i) {
        const bool wanted = adzi_needs(node, i);
        d->in[i] = input_for(node, i, wanted, graph);
        if (d->in[i] == NULL) {
            return false;
        }
        if (wanted) {
            d->wanted[d->n_wanted++] = d->in[i];
        }
    }
    return true;
}

/* Keeps the results that received a gradient, and releases everything else that the thread has
 * made since it had `mark` temporaries. */
static bool keep_outputs(const adzi_node *node, derivation *d, adz_tensor *const *results,
    adz_tensor *const *dy, size_t mark)
{
    adzi_thread *thread = adzi_self();
    for (int k = 0; k < node->n_results; ++k) {
        if (dy[k] == NULL) {
            continue;
        }
        if (!adzi_check_tensor(node->op->name, "a result of the expression", results[k])) {
            return false;
        }
        if (adzi_requires_grad(results[k])) {
            d->outputs[d->n_outputs] = results[k];
            d->upstream[d->n_outputs++] = dy[k];
        }
    }
    if (!adzi_scope_reserve(thread, (size_t)d->n_outputs)) {
        adzi_fail_memory(node->op->name, (size_t)d->n_outputs * sizeof(adz_tensor *));
        return false;
    }
    for (int k = 0; k < d->n_outputs; ++k) {
        adzi_retain(d->outputs[k]);
    }
    adzi_scope_unwind(thread, mark);
    for (int k = 0; k < d->n_outputs; ++k) {
        adzi_borrow(thread, d->outputs[k]);
    }
    return true;
}

typedef struct recorded_call {
    adzi_node *node;
    derivation *d;
    adz_tensor *const *dy;
} recorded_call;

/* Calls the expression while the thread records. */
static bool compute_recorded(void *state)
{
    const recorded_call *c = state;
    adz_tensor *results[MOST] = { NULL };
    adzi_thread *thread = adzi_self();
    thread->deriving = c->node;
    const size_t mark = thread->n_temporaries;
    return adzi_call_expression(c->node->op, results, c->d->in, adz_node_attributes(c->node)) &&
           keep_outputs(c->node, c->d, results, c->dy, mark);
}

adz_tensor *adzi_derived_extra(const void *attr, int slot)
{
    adzi_node *node = adzi_self()->deriving;
    return node != NULL && node->attr == attr ? adzi_saved_extra(node, slot) : ADZ_NONE;
}

adz_tensor *adzi_derived_zeros(const void *attr)
{
    const adzi_node *node = adzi_self()->deriving;
    if (node == NULL || node->attr != attr) {
        return adzi_fail_null("expression", "an input");
    }
    return filled(0, adzi_result_shape(node, 0), (adz_dtype)node->results[0].dtype);
}

adz_status adzi_derived_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    derivation d = { .n_wanted = 0 };
    const adzi_door door = { .op = node->op->name, .mode = ADZI_DOOR_RECORDS };
    const bool graph = adzi_self()->grad_enabled;
    if (!take_inputs(node, &d, graph) ||
        !adzi_through_door(&door, compute_recorded, &(recorded_call){ node, &d, dy })) {
        return adzi_status(NULL);
    }
    if (d.n_outputs == 0 || d.n_wanted == 0) {
        return ADZ_OK;
    }
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.create_graph = graph;
    options.allow_unused = true;
    const adz_status status = adz_autograd_grad(d.outputs, d.upstream, (size_t)d.n_outputs,
        d.wanted, (size_t)d.n_wanted, &options, d.found);
    for (int i = 0, k = 0; i < node->n_inputs && status == ADZ_OK; ++i) {
        if (k < d.n_wanted && d.in[i] == d.wanted[k]) {
            dx[i] = d.found[k] == ADZ_NONE ? NULL : d.found[k];
            ++k;
        }
    }
    return status;
}

/* An infinite dy must not meet the inner parts of f', where it could be multiplied by 0. */
adz_status adzi_derived_slope(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *one = filled(1, adzi_result_shape(node, 0), (adz_dtype)dy[0]->dtype);
    if (one == NULL) {
        return adzi_status(NULL);
    }
    one->is_one = true; /* so that f' has no products with it, which copy what is saved */
    const adz_status status = adzi_derived_backward(node, dx, &one);
    if (status != ADZ_OK || dx[0] == NULL) {
        return status;
    }
    dx[0] = adz_mul(dy[0], dx[0]);
    return adzi_status(dx[0]);
}
