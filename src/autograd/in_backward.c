/* What the backward of an operator asks of the run that has called it. It calls no operator,
 * because every operator calls it. */
#include "autograd/op.h"
#include "autograd/run.h"

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

adz_tensor *adzi_scratch_gradient(
    const adzi_node *node, int i, adz_dtype dtype, int rank, const int64_t *sizes)
{
    const adz_tensor *leaf = node->inputs[i].leaf;
    adzi_gradient *gradient = leaf != NULL ? leaf->gradient : NULL;
    if (gradient != NULL && gradient->place != NULL && gradient->grad == NULL &&
        gradient->hooks == NULL) {
        adzi_run *run = node->entry->run;
        adzi_leaf_slot *slot = adzi_run_slot(run, leaf);
        adz_tensor *place = gradient->place;
        bool fits = leaf->dtype == dtype && leaf->rank == rank;
        for (int d = 0; d < rank && fits; ++d) {
            fits = leaf->sizes[d] == sizes[d];
        }
        if (fits && run->targets == NULL && !run->create_graph && !run->express && slot != NULL &&
            slot->grad == NULL && !adzi_is_summed_in(slot) && adzi_is_exclusive(place)) {
            slot->placed = true;
            return place;
        }
    }
    return adzi_scratch(node->op->name, dtype, rank, sizes);
}
