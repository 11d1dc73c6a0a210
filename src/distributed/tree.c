/* The tree over the micro-batches: lists of nodes, and the sums that belong to them. */
#include "autograd/leaf.h"
#include "distributed/data_parallel.h"
#include "distributed/join.h"
#include "tensor/tensor.h"

/* ---- lists of nodes ------------------------------------------------------------------------- */

int adzi_tree_push(adzi_tree_node *list, int *count, adzi_tree_node node, int leaves)
{
    int joins = 0;
    for (;;) {
        const adzi_tree_node *last = *count > 0 ? &list[*count - 1] : NULL;
        if (node.index % 2 == 1) {
            if (last == NULL || last->level != node.level || last->index != node.index - 1) {
                break;
            }
            --*count;
            ++joins;
        } else if (node.index == 0 || (node.index + 1) << node.level < leaves) {
            break; /* its sibling follows, or it is the leftmost node of its level */
        }
        node = (adzi_tree_node){ node.level + 1, node.index / 2 };
    }
    list[(*count)++] = node;
    return joins;
}

int adzi_tree_run(adzi_tree_node *list, int first, int n, int leaves)
{
    int count = 0;
    for (int i = 0; i < n; ++i) {
        adzi_tree_push(list, &count, (adzi_tree_node){ 0, first + i }, leaves);
    }
    return count;
}

/* ---- sums ----------------------------------------------------------------------------------- */

char *adzi_parallel_gradients(const adz_data_parallel *p, int group, int64_t offset)
{
    const adz_tensor *all = adz_flat_parameters_gradients(p->flat, group);
    return all->data + offset * (int64_t)adzi_item_size(all);
}

static char *slot_at(const adz_data_parallel *p, int slot, int group, int64_t offset)
{
    const adz_tensor *all = adz_flat_parameters_gradients(p->flat, group);
    return p->sums[slot * adz_flat_parameters_group_count(p->flat) + group] +
           offset * (int64_t)adzi_item_size(all);
}

adzi_tree_node adzi_parallel_node_after(const adz_data_parallel *p, int leaf)
{
    const bool pair = !p->fast && leaf % 2 == 1 && leaf > p->first;
    return pair ? (adzi_tree_node){ 1, leaf / 2 } : (adzi_tree_node){ 0, leaf };
}

void adzi_parallel_push(adz_data_parallel *p)
{
    char *lows[ADZI_TREE_NODES];
    const int leaf = p->first + p->micro, slots = p->n_nodes;
    if (p->fast || leaf % 2 == 0) {
        return; /* the next backward adds to the gradients */
    }
    const int joins =
        adzi_tree_push(p->nodes, &p->n_nodes, adzi_parallel_node_after(p, leaf), p->leaves);
    for (int g = 0; g < adz_flat_parameters_group_count(p->flat); ++g) {
        const adz_tensor *all = adz_flat_parameters_gradients(p->flat, g);
        lows[0] = joins == 0 ? slot_at(p, slots, g, 0) : NULL;
        for (int k = 0; k < joins; ++k) { /* this rank's last nodes, the newest first */
            lows[k] = slot_at(p, slots - 1 - k, g, 0);
        }
        adzi_join_take((adz_dtype)all->dtype, lows, joins, all->data, all->numel);
    }
    for (size_t i = 0; i < p->n_parameters; ++i) {
        adzi_gradient_taken(adz_flat_parameters_slice_at(p->flat, i).parameter->gradient,
            "adz_data_parallel_backward");
    }
}

void adzi_parallel_join_last(adz_data_parallel *p, int group, int64_t begin, int64_t length)
{
    char *lows[ADZI_TREE_NODES];
    const adz_tensor *all = adz_flat_parameters_gradients(p->flat, group);
    for (int k = 0; k < p->last_joins; ++k) {
        lows[k] = slot_at(p, p->n_nodes - 2 + p->last_joins - k, group, begin);
    }
    adzi_join_up((adz_dtype)all->dtype, adzi_parallel_gradients(p, group, begin), lows,
        p->last_joins, length);
}

char *adzi_parallel_node(const adz_data_parallel *p, int node, int group, int64_t offset)
{
    return node == p->n_nodes - 1 ? adzi_parallel_gradients(p, group, offset)
                                  : slot_at(p, node, group, offset);
}
