/* Note [Where the graph of a body ends] is in cut.h.
 *
 * A backward goes on behind a tensor that it was asked for. So the nodes of captured tensors have
 * no inputs while the graph of the body is differentiated. A tensor of the scope gives them back,
 * also if a hook of the program leaves that backward by a jump. */
#include "solvers/loops/cut.h"

#include <string.h>

#include "base/alloc.h"

typedef struct cut {
    size_t n;
    struct {
        adzi_node *node; /* retained */
        uint16_t n_inputs;
    } ends[];
} cut;

/* Gives the nodes their inputs again. A node may have been cut twice. */
static void mend(cut *c)
{
    while (c->n > 0) {
        adzi_node *node = c->ends[--c->n].node;
        node->n_inputs = c->ends[c->n].n_inputs;
        adzi_node_release(adzi_self(), node);
    }
}

typedef struct owned_cut {
    cut *cut;
    size_t bytes;
} owned_cut;

static void attributes_free(void *attributes)
{
    owned_cut owned;
    memcpy(&owned, attributes, sizeof owned);
    mend(owned.cut);
    adzi_free(owned.cut, owned.bytes);
}

static const adzi_op owner_op = {
    .size = sizeof(adzi_op), .name = "loop", .attributes_free = attributes_free
};

/* Room for n ends, which belongs to the scope. NULL with the error recorded. */
static cut *cut_new(const char *op, size_t n)
{
    adzi_thread *thread = adzi_self();
    owned_cut owned = { .bytes = sizeof(cut) + n * sizeof owned.cut->ends[0] };
    adz_tensor *owner = adzi_scratch(op, ADZ_U8, 0, NULL);
    owned.cut = owner != NULL ? adzi_alloc_zero(owned.bytes) : NULL;
    if (owned.cut == NULL) {
        return owner != NULL ? adzi_fail_memory(op, owned.bytes) : NULL;
    }
    adzi_node *node = adzi_node_new(thread, &owner_op, NULL, 0, 1, 0, &owned, sizeof owned);
    if (node == NULL) {
        adzi_free(owned.cut, owned.bytes);
        return NULL;
    }
    adzi_node_attach(node, 0, owner);
    adzi_node_release(thread, node);
    return owned.cut;
}

bool adzi_region_gradients(adzi_node *node, int first, adzi_graded outputs, adzi_graded targets)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = adzi_self()->grad_enabled;
    o.retain_graph = o.allow_unused = true;
    if (outputs.count == 0 || targets.count == 0) {
        return true;
    }
    cut *c = cut_new(node->op->name, (size_t)node->n_inputs);
    for (int i = first; c != NULL && i < node->n_inputs; ++i) {
        adzi_node *end = node->inputs[i].node;
        if (end != NULL) {
            adzi_refs_take(&end->refs);
            c->ends[c->n].node = end;
            c->ends[c->n++].n_inputs = end->n_inputs;
            end->n_inputs = 0;
        }
    }
    const bool good =
        c != NULL && adz_autograd_grad(outputs.items, outputs.gradients, outputs.count,
                         targets.items, targets.count, &o, targets.gradients) == ADZ_OK;
    if (c != NULL) {
        mend(c);
    }
    return good;
}
