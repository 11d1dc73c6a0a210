/* Backward, first half: the memory of a run, and which nodes it reaches. */
#include <string.h>

#include "autograd/engine.h"
#include "autograd/leaf.h"
#include "base/upper.h"

const char adzi_backward_name[] = "backward";

/* ---- memory of a run ---------------------------------------------------------------------------
 */

enum { CHUNK_HEAD = (sizeof(adzi_chunk) + 15) & ~(size_t)15, CHUNK = 65000 };

void *adzi_run_alloc(adzi_run *run, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    adzi_chunk *c = run->chunks;
    if (c->size - c->used >= bytes) {
        c->used += bytes;
        return (char *)c + c->used - bytes;
    }
    size_t size = bytes + CHUNK_HEAD > CHUNK ? bytes + CHUNK_HEAD : CHUNK;
    adzi_chunk *fresh = adzi_alloc(size);
    if (fresh == NULL) {
        return adzi_fail_memory(adzi_backward_name, size);
    }
    fresh->next = run->chunks;
    fresh->size = size;
    fresh->used = CHUNK_HEAD + bytes;
    run->chunks = fresh;
    return (char *)fresh + CHUNK_HEAD;
}

adzi_run *adzi_run_begin(adzi_thread *thread, uintptr_t floor)
{
    const size_t frame = adzi_frame_begin(thread, floor, NULL);
    if (frame == SIZE_MAX) {
        return adzi_fail_memory(adzi_backward_name, sizeof(adzi_frame));
    }
    adzi_run *run = adzi_alloc(sizeof *run);
    if (run == NULL) {
        adzi_frame_end(thread, frame);
        return adzi_fail_memory(adzi_backward_name, sizeof *run);
    }
    thread->frames[frame].run = run;
    run->thread = thread;
    run->frame = frame;
    run->checked = NULL;
    run->express = thread->tracer != NULL;
    run->create_graph = run->keep_graph = run->commits = run->done = false;
    run->targets = NULL;
    run->found = NULL;
    run->n_targets = 0;
    run->order = run->first_order;
    run->n_order = 0;
    run->order_capacity = sizeof run->first_order / sizeof *run->first_order;
    run->leaves = NULL;
    run->chunks = (adzi_chunk *)(void *)run->first_chunk;
    run->chunks->next = NULL;
    run->chunks->size = sizeof run->first_chunk;
    run->chunks->used = CHUNK_HEAD;
    return run;
}

/* Releases what call_checked has retained, after a jump out of the backward. */
static void release_checked(adzi_run *run)
{
    adzi_node *node = run->checked;
    for (int k = 0; k < node->n_results; ++k) {
        adzi_drop(node->entry->grads[k]);
    }
}

static void run_abandon(adzi_run *run)
{
    size_t n_roots = 0;
    if (run->checked != NULL) {
        release_checked(run);
    }
    for (size_t i = 0; i < run->n_order; ++i) {
        adzi_node *node = run->order[i];
        adzi_entry *entry = node->entry;
        for (int k = 0; k < node->n_results; ++k) {
            adzi_drop(entry->grads[k]);
        }
        node->entry = entry->outer;
        node->targeted = entry->outer != NULL && entry->outer->run->targets != NULL;
        if (entry->root) {
            run->order[n_roots++] = node;
        }
    }
    for (adzi_leaf_slot *slot = run->leaves; slot != NULL; slot = slot->next) {
        if (!run->done) {
            adzi_leaf_undo(slot);
        }
        slot->leaf->gradient->slot = slot->outer;
        adzi_drop(slot->grad);
        if (slot->held) {
            adzi_drop(slot->leaf);
        }
    }
    for (size_t i = 0; i < run->n_targets; ++i) {
        adzi_drop(run->found[i]);
    }
    while (n_roots > 0) {
        adzi_node_release(run->thread, run->order[--n_roots]);
    }
    if (run->order != run->first_order) {
        adzi_free(run->order, run->order_capacity * sizeof *run->order);
    }
    while (run->chunks->next != NULL) {
        adzi_chunk *next = run->chunks->next;
        adzi_free(run->chunks, run->chunks->size);
        run->chunks = next;
    }
    adzi_free(run, sizeof *run);
}

ADZI_AT_LOAD register_runs(void)
{
    adzi_upper.run_abandon = run_abandon;
}

void adzi_run_end(adzi_run *run)
{
    adzi_frame_end(run->thread, run->frame);
    run_abandon(run);
}

/* ---- finding the graph -------------------------------------------------------------------------
 */

static bool grow_order(adzi_run *run)
{
    size_t capacity = run->order_capacity * 2;
    adzi_node **order = adzi_alloc(capacity * sizeof *order);
    if (order == NULL) {
        adzi_fail_memory(adzi_backward_name, capacity * sizeof *order);
        return false;
    }
    memcpy(order, run->order, run->n_order * sizeof *order);
    if (run->order != run->first_order) {
        adzi_free(run->order, run->order_capacity * sizeof *run->order);
    }
    run->order = order;
    run->order_capacity = capacity;
    return true;
}

static bool reach(adzi_run *run, adzi_node *node, bool root)
{
    if (node->entry != NULL && node->entry->run == run) {
        return true;
    }
    if (run->n_order == run->order_capacity && !grow_order(run)) {
        return false;
    }
    size_t grads = (size_t)node->n_results * sizeof(adz_tensor *);
    adzi_entry *entry = adzi_run_alloc(run, sizeof *entry + grads);
    if (entry == NULL) {
        return false;
    }
    entry->run = run;
    entry->outer = node->entry;
    entry->wanted = run->targets == NULL;
    entry->captured = false;
    entry->root = root;
    entry->visited = false;
    for (int k = 0; k < node->n_results; ++k) {
        entry->grads[k] = NULL;
    }
    node->entry = entry;
    node->targeted = run->targets != NULL;
    if (root) {
        adzi_refs_take(&node->refs);
    }
    run->order[run->n_order++] = node;
    return true;
}

adzi_leaf_slot *adzi_run_leaf(adzi_run *run, adz_tensor *leaf, bool hold)
{
    adzi_gradient *gradient = adzi_gradient_of(adzi_backward_name, leaf);
    if (gradient == NULL) {
        return NULL;
    }
    adzi_leaf_slot *slot = gradient->slot;
    if (slot != NULL && slot->run == run) {
        return slot;
    }
    adzi_recorder_gradient(gradient);
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

/* Sorts the nodes from place `first` on, newest first: up to 32 by insertion, more by merging. */
static bool sort_order(adzi_run *run, size_t first)
{
    size_t n = run->n_order - first;
    adzi_node **a = run->order + first;
    if (n <= 32) {
        for (size_t i = 1; i < n; ++i) {
            adzi_node *node = a[i];
            size_t j = i;
            for (; j > 0 && a[j - 1]->sequence < node->sequence; --j) {
                a[j] = a[j - 1];
            }
            a[j] = node;
        }
        return true;
    }
    adzi_node **other = adzi_alloc(n * sizeof *other), **from = a, **to = other;
    if (other == NULL) {
        adzi_fail_memory(adzi_backward_name, n * sizeof *other);
        return false;
    }
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t mid = low + width < n ? low + width : n;
            size_t high = mid + width < n ? mid + width : n;
            for (size_t i = low, j = mid, k = low; k < high; ++k) {
                bool left = i < mid && (j >= high || from[i]->sequence > from[j]->sequence);
                to[k] = left ? from[i++] : from[j++];
            }
        }
        adzi_node **swap = from;
        from = to;
        to = swap;
    }
    if (from != a) {
        memcpy(a, from, n * sizeof *a);
    }
    adzi_free(other, n * sizeof *other);
    return true;
}

bool adzi_needs(const adzi_node *node, int i)
{
    const adzi_edge *edge = &node->inputs[i];
    if (!node->targeted) {
        return edge->node != NULL || edge->leaf != NULL;
    }
    if (edge->node != NULL) {
        return edge->node->entry->wanted || edge->node->entry->captured;
    }
    return edge->leaf != NULL && adzi_run_slot(node->entry->run, edge->leaf) != NULL;
}

void adzi_release_input(adzi_node *node, int i)
{
    adzi_edge *edge = &node->inputs[i];
    if (edge->saved == NULL || edge->saved == edge->leaf || node->entry->run->keep_graph) {
        return;
    }
    adz_tensor *saved = edge->saved;
    edge->saved = NULL;
    node->released = true; /* even if the backward should fail after this */
    adzi_drop(saved);
}

/* Counts one more edge or output that leads to a leaf. */
static bool count_leaf(adzi_run *run, adz_tensor *leaf, bool hold)
{
    adzi_leaf_slot *slot = adzi_run_leaf(run, leaf, hold);
    if (slot != NULL) {
        ++slot->pending;
    }
    return slot != NULL;
}

/* Finds the node or the leaf that an output or an edge leads to. A run with targets counts the
 * edges to leaves later, when it knows the targets. */
static bool follow(adzi_run *run, adzi_node *node, adz_tensor *leaf, bool output)
{
    if (node != NULL) {
        return reach(run, node, output);
    }
    return leaf == NULL || run->targets != NULL || count_leaf(run, leaf, output);
}

bool adzi_run_discover(adzi_run *run, adz_tensor *const *outputs, size_t n)
{
    size_t first = run->n_order;
    for (size_t i = 0; i < n; ++i) {
        if (!follow(run, outputs[i]->node, outputs[i], true)) {
            return false;
        }
    }
    bool sorted = n == 1;
    uint64_t newest = UINT64_MAX;
    for (size_t i = first; i < run->n_order; ++i) {
        adzi_node *node = run->order[i];
        sorted = sorted && node->sequence < newest;
        newest = node->sequence;
        for (int e = 0, n_inputs = node->n_inputs; e < n_inputs; ++e) {
            if (!follow(run, node->inputs[e].node, node->inputs[e].leaf, false)) {
                return false;
            }
        }
    }
    return sorted || sort_order(run, first);
}

/* Counts the edges and outputs that lead to targets, which have a slot already. */
static void count_targets(adzi_run *run, size_t first, adz_tensor *const *outputs, size_t n)
{
    adzi_leaf_slot *slot;
    for (size_t i = 0; i < n; ++i) {
        if (outputs[i]->node == NULL && (slot = adzi_run_slot(run, outputs[i])) != NULL) {
            ++slot->pending;
        }
    }
    for (size_t i = first; i < run->n_order; ++i) {
        const adzi_node *node = run->order[i];
        for (int e = 0; e < node->n_inputs; ++e) {
            const adz_tensor *leaf = node->inputs[e].leaf;
            if (leaf != NULL && (slot = adzi_run_slot(run, leaf)) != NULL) {
                ++slot->pending;
            }
        }
    }
}

void adzi_run_mark_from(adzi_run *run, size_t first, adz_tensor *const *outputs, size_t n)
{
    count_targets(run, first, outputs, n);
    for (size_t i = run->n_order; i-- > first;) {
        adzi_node *node = run->order[i];
        for (int e = 0; e < node->n_inputs && !node->entry->wanted; ++e) {
            node->entry->wanted = adzi_needs(node, e);
        }
    }
}

/* Marks the nodes on a path from the outputs to a target, oldest first. */
bool adzi_run_mark_wanted(adzi_run *run, adz_tensor *const *outputs, size_t n)
{
    for (size_t i = 0; i < run->n_targets; ++i) {
        adz_tensor *t = run->targets[i];
        if (t->node == NULL) {
            if (adzi_run_leaf(run, t, true) == NULL) {
                return false;
            }
        } else if (t->node->entry != NULL && t->node->entry->run == run) {
            t->node->entry->captured = true;
        }
    }
    adzi_run_mark_from(run, 0, outputs, n);
    return true;
}
