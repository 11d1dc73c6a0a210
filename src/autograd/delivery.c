/* Delivers gradients to the entries of nodes and the slots of leaves, and makes these slots. */
#include "autograd/delivery.h"
#include "autograd/operators.h"

#include "autograd/op.h"

adzi_leaf_slot *adzi_run_leaf(adzi_run *run, adz_tensor *leaf, bool hold)
{
    adzi_gradient *gradient = adzi_gradient_of(ADZI_BACKWARD_NAME, leaf);
    if (gradient == NULL) {
        return NULL;
    }
    adzi_leaf_slot *slot = gradient->slot;
    if (slot != NULL && slot->run == run) {
        return slot;
    }
    adzi_capture_gradient(gradient);
    slot = adzi_run_alloc(run, sizeof *slot);
    if (slot == NULL) {
        return NULL;
    }
    slot->run = run;
    slot->outer = gradient->slot;
    slot->next = run->leaves;
    slot->leaf = hold ? adzi_retain(leaf) : leaf;
    slot->held = hold;
    slot->placed = slot->committed = false;
    slot->pending = 0;
    slot->grad = NULL;
    gradient->slot = slot;
    run->leaves = slot;
    return slot;
}

bool adzi_run_deliver(adzi_run *run, adz_tensor **slot, adz_tensor *t)
{
    adz_tensor *held = *slot;
    if (held == NULL) {
        *slot = adzi_retain(t);
        return true;
    }
    if (!run->create_graph && !run->express && adzi_is_exclusive(held) &&
        held->storage->deleter == NULL && adzi_is_contiguous(held)) {
        adzi_accumulate(held, t); /* nobody else sees the sum, so it is added to in place */
        return true;
    }
    adz_tensor *sum = adz_add(held, t);
    if (sum == NULL) {
        return false;
    }
    *slot = adzi_retain(sum);
    adzi_drop(held);
    return true;
}

/* Delivers to the slot of a leaf. A sum that lies in the leaf's place stays there. */
static bool deliver_to_leaf(adzi_run *run, adzi_leaf_slot *slot, adz_tensor *t)
{
    if (slot->placed && slot->grad != NULL && slot->grad == slot->leaf->gradient->place) {
        adzi_accumulate(slot->grad, t);
        return true;
    }
    return adzi_run_deliver(run, &slot->grad, t);
}

bool adzi_run_deliver_to(adzi_run *run, adz_tensor *output, adz_tensor *t)
{
    if (output->node != NULL) {
        return adzi_run_deliver(run, &output->node->entry->grads[output->result], t);
    }
    adzi_leaf_slot *leaf = adzi_run_leaf(run, output, true);
    return leaf != NULL && deliver_to_leaf(run, leaf, t);
}

/* What the gradient of an input must look like: the layout of the input itself. */
typedef struct {
    int rank;
    uint8_t dtype;
    const int64_t *sizes;
} layout;

static bool has_layout(const adz_tensor *t, layout l)
{
    bool same = t->rank == l.rank && t->dtype == l.dtype;
    for (int d = 0; d < l.rank && same; ++d) {
        same = t->sizes[d] == l.sizes[d];
    }
    return same;
}

/* Sums a gradient over the dimensions that its input was broadcast over. Fails if the shape of the
 * gradient is none that the input can be broadcast to, or if the dtypes differ. */
static adz_tensor *sum_to_layout(const adzi_node *node, int i, adz_tensor *t, layout l)
{
    if (t->dtype != l.dtype) {
        return adzi_fail(node->op->name, ADZ_ERR_DTYPE,
            "the backward gave %s for input %d, which is %s", adz_dtype_name((adz_dtype)t->dtype),
            i, adz_dtype_name((adz_dtype)l.dtype));
    }
    bool fits = t->rank >= l.rank;
    for (int d = 0; d < l.rank && fits; ++d) {
        fits = l.sizes[d] == 1 || l.sizes[d] == t->sizes[d + t->rank - l.rank];
    }
    if (!fits) {
        return adzi_fail(node->op->name, ADZ_ERR_SHAPE,
            "the backward gave a gradient %s for input %d, which has shape %s", adzi_text_shape(t),
            i, adzi_text_sizes(l.rank, l.sizes));
    }
    return adzi_sum_to(t, adz_shape_of(l.rank, l.sizes));
}

/* Delivers the gradient of input i to the node that computed the input, or to its leaf. */
static bool deliver_input(adzi_run *run, const adzi_node *node, int i, adz_tensor *t)
{
    const adzi_edge *edge = &node->inputs[i];
    layout l;
    if (edge->leaf != NULL) {
        l = (layout){ edge->leaf->rank, edge->leaf->dtype, edge->leaf->sizes };
    } else {
        const adzi_result *r = &edge->node->results[edge->result];
        l = (layout){ r->rank, r->dtype, r->sizes };
    }
    if (!has_layout(t, l) && (t = sum_to_layout(node, i, t, l)) == NULL) {
        return false;
    }
    return edge->leaf != NULL ? deliver_to_leaf(run, adzi_run_slot(run, edge->leaf), t)
                              : adzi_run_deliver(run, &edge->node->entry->grads[edge->result], t);
}

bool adzi_deliver_inputs(adzi_run *run, const adzi_node *node, adz_tensor *const *dx)
{
    for (int i = 0; i < node->n_inputs; ++i) {
        if (dx[i] != NULL && adzi_needs(node, i) && !deliver_input(run, node, i, dx[i])) {
            return false;
        }
    }
    return true;
}
