/* Nodes of the tape: making and freeing them, and how they are connected. saved.c has what a node
 * keeps for its backward. */
#include "autograd/node.h"

#include <string.h>

#include "base/threads/upcalls.h"
#include "tensor/shape.h"

/* ---- life ------------------------------------------------------------------------------------ */

static size_t align8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* Connects an edge to its input. Raises *sequence to that of the node that computed the input. */
static void fill_edge(adzi_edge *edge, adz_tensor *t, uint64_t *sequence)
{
    edge->node = NULL;
    edge->leaf = NULL;
    edge->saved = NULL;
    edge->recomputed = false;
    if (adzi_is_none(t)) {
        return;
    }
    if (t->node != NULL) {
        adzi_refs_take(&t->node->refs);
        edge->node = t->node;
        edge->result = t->result;
        *sequence = t->node->sequence > *sequence ? t->node->sequence : *sequence;
    } else if (t->requires_grad) {
        edge->leaf = adzi_retain(t);
    }
}

static void clear_results(adzi_node *node)
{
    for (int k = 0; k < node->n_results; ++k) {
        adzi_result *r = &node->results[k];
        r->saved = NULL;
        r->retains = NULL;
        r->hooks = NULL;
        r->rank = 0;
        r->dtype = ADZ_F32;
    }
    for (int k = 0; k < node->n_extras; ++k) {
        node->extras[k].saved = NULL;
    }
}

adzi_node *adzi_node_new(adzi_thread *thread, const adzi_op *op, adz_tensor *const *inputs,
    int n_inputs, int n_results, int n_extras, const void *attr, size_t attr_size)
{
    size_t results = sizeof(adzi_node) + (size_t)n_inputs * sizeof(adzi_edge);
    size_t extras = results + (size_t)n_results * sizeof(adzi_result);
    size_t attrs = extras + (size_t)n_extras * sizeof(adzi_extra);
    size_t bytes = attrs + align8(attr_size);
    adzi_node *node = bytes <= UINT32_MAX && n_inputs <= UINT16_MAX && n_results <= UINT16_MAX
                          ? adzi_alloc(bytes)
                          : NULL;
    if (node == NULL) {
        return adzi_fail_memory(op->name, bytes);
    }
    node->op = op;
    atomic_init(&node->refs, 1);
    node->n_inputs = (uint16_t)n_inputs;
    node->n_results = (uint16_t)n_results;
    node->n_extras = (uint16_t)n_extras;
    node->released = false;
    node->saves = false;
    node->targeted = false;
    node->watched = false;
    atomic_init(&node->kept, false);
    node->readers = 0;
    node->recompute = NULL;
    node->bytes = (uint32_t)bytes;
    node->entry = NULL;
    node->file = NULL;
    node->line = 0;
    node->results = (adzi_result *)(void *)((char *)node + results);
    node->extras = (adzi_extra *)(void *)((char *)node + extras);
    node->attr = (char *)node + attrs;
    /* Lamport's clock: higher than all nodes of this thread, and than the nodes of the inputs,
     * which another thread may have made. */
    uint64_t sequence = thread->sequence;
    for (int i = 0; i < n_inputs; ++i) {
        fill_edge(&node->inputs[i], inputs[i], &sequence);
    }
    node->sequence = thread->sequence = sequence + 1;
    clear_results(node);
    if (attr_size > 0) {
        memcpy(node->attr, attr, attr_size);
    }
    return node;
}

void adzi_node_attach(adzi_node *node, int k, adz_tensor *t)
{
    adzi_result *r = &node->results[k];
    r->dtype = t->dtype;
    r->rank = t->rank;
    for (int i = 0; i < t->rank; ++i) {
        r->sizes[i] = t->sizes[i];
    }
    if (t->retains_grad) {
        r->retains = t;
        node->watched = true;
    }
    adzi_refs_add_unshared(&node->refs, 1);
    t->node = node;
    t->result = (uint16_t)k;
    t->history = t->storage->history;
}

void adzi_hook_ended(const adzi_hook *hook)
{
    if (hook->end != NULL) {
        hook->end(hook->user);
    }
}

/* Ends the hooks of a list, and the list. */
static void end_list(adzi_hook_list *list)
{
    if (list != NULL) {
        for (size_t i = 0; i < list->count; ++i) {
            adzi_hook_ended(&list->hooks[i]);
        }
        adzi_free(list->hooks, list->capacity * sizeof(adzi_hook));
        adzi_free(list, sizeof *list);
    }
}

static void free_hooks(adzi_node *node)
{
    for (int k = 0; k < node->n_results; ++k) {
        if (node->results[k].hooks != NULL) {
            end_list(node->results[k].hooks);
        }
    }
}

/* Note [Freeing deep graphs]
 *
 * The last reference to a node may be held by another node, whose last reference is held by a third
 * one, and so on a million deep. A recursive function would overflow the stack. Therefore a node
 * that ends is put on a list of the thread. The first call that does so frees the nodes of the list
 * in a loop. Nodes that end meanwhile, through edges or through saved tensors, are added to the
 * list.
 */
static void node_destroy(adzi_thread *thread, adzi_node *node)
{
    adzi_node_release_saved(node);
    for (int i = 0, n = node->n_inputs; i < n; ++i) {
        adzi_edge *edge = &node->inputs[i];
        if (edge->node != NULL) {
            adzi_node_release(thread, edge->node);
        }
        adzi_drop(edge->leaf);
    }
    if (node->watched) {
        free_hooks(node);
    }
    if (node->op->attributes_free != NULL) {
        node->op->attributes_free(node->attr);
    }
    adzi_free(node, node->bytes);
}

void adzi_node_release(adzi_thread *thread, adzi_node *node)
{
    if (!adzi_refs_drop(&node->refs)) {
        return;
    }
    node->next_dead = thread->dead_nodes;
    thread->dead_nodes = node;
    if (thread->draining) {
        return;
    }
    thread->draining = true;
    while (thread->dead_nodes != NULL) {
        adzi_node *dead = thread->dead_nodes;
        thread->dead_nodes = dead->next_dead;
        node_destroy(thread, dead);
    }
    thread->draining = false;
}

/* Clears the retain_grad entry of a node when the tensor it points to ends. */
static void forget_retained(adz_tensor *t)
{
    if (t->node != NULL && t->node->results[t->result].retains == t) {
        t->node->results[t->result].retains = NULL;
    }
}

/* Declared in tensor.h. It stands next to gradient_free, so that a program which links libadze.a
 * and makes gradients also links what frees them. */
adzi_gradient *adzi_gradient_of(const char *op, adz_tensor *t)
{
    if (t->gradient == NULL) {
        t->gradient = adzi_alloc_zero(sizeof *t->gradient);
        if (t->gradient == NULL) {
            return adzi_fail_memory(op, sizeof *t->gradient);
        }
        t->gradient->leaf = t;
    }
    return t->gradient;
}

/* Frees t->gradient when the tensor ends: the gradient, the hooks, and the entry of retain_grad. */
static void gradient_free(adz_tensor *t)
{
    forget_retained(t);
    adzi_drop(t->gradient->grad);
    adzi_drop(t->gradient->place);
    end_list(t->gradient->hooks);
    end_list(t->gradient->after);
    adzi_free(t->gradient, sizeof *t->gradient);
    t->gradient = NULL;
}

static const char *node_name(const adzi_node *node)
{
    return node->op->name;
}

static void node_sited(adzi_node *node, const char *file, int line)
{
    if (node->file == NULL) {
        node->file = file;
        node->line = line;
    }
}

ADZI_AT_LOAD register_tape(void)
{
    adzi_tape = (adzi_tape_calls){ adzi_node_release, gradient_free, node_name, node_sited,
        adzi_result_ends };
}

/* ---- reading --------------------------------------------------------------------------------- */

adz_tensor *adzi_saved_result_as_input(adzi_node *node, int k, int i)
{
    const adzi_edge *edge = &node->inputs[i];
    adz_tensor *t = adzi_saved_result(node, k);
    if (t != NULL && t->node != NULL && edge->node != NULL) {
        adzi_refs_take(&edge->node->refs);
        t->node = edge->node;
        t->result = edge->result;
        adzi_node_release(adzi_self(), node);
    }
    return t;
}

adz_shape adzi_result_shape(const adzi_node *node, int k)
{
    return adz_shape_of(node->results[k].rank, node->results[k].sizes);
}

adz_shape adzi_input_shape(const adzi_node *node, int i)
{
    const adzi_edge *edge = &node->inputs[i];
    if (edge->node != NULL) {
        return adzi_result_shape(edge->node, (int)edge->result);
    }
    const adz_tensor *t = edge->leaf != NULL ? edge->leaf : edge->saved;
    return t != NULL ? adz_shape_of(t->rank, t->sizes) : adz_shape_of(-1, NULL);
}
