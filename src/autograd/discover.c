/* Which nodes and leaves a running backward reaches, and in which order it visits the nodes. */
#include <string.h>

#include "autograd/delivery.h"

static bool grow_order(adzi_run *run)
{
    size_t capacity = run->order_capacity * 2;
    adzi_node **order = adzi_alloc(capacity * sizeof *order);
    if (order == NULL) {
        adzi_fail_memory(ADZI_BACKWARD_NAME, capacity * sizeof *order);
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

/* Sorts the nodes from position `first` on, newest first: up to 32 by insertion, more by merging.
 */
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
        adzi_fail_memory(ADZI_BACKWARD_NAME, n * sizeof *other);
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
