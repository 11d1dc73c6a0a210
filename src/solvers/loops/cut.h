/* Gradients of the body of a region, whose graph ends at what the body has captured. */
#ifndef ADZI_SOLVERS_LOOPS_CUT_H
#define ADZI_SOLVERS_LOOPS_CUT_H

#include "autograd/op.h"

/** Tensors, and their gradients. */
typedef struct adzi_graded {
    adz_tensor **items, **gradients;
    size_t count;
} adzi_graded;

/**
 * The gradients of the targets through the graph of a body.
 *
 * Note [Where the graph of a body ends]
 * A body may capture two tensors of which one was computed from the other. The gradient of the body
 * by the older one is that of its own uses: what comes through the newer one is the gradient of the
 * newer one, which goes on outside of the region. So the graph of the body ends at all tensors that
 * the body has captured: the inputs of the region's node.
 *
 * @param node     the node of the region, whose inputs from `first` on are what was captured
 * @param outputs  with the gradients that come from above
 * @param targets  get their gradients; NULL or ADZ_NONE for those without
 * @return         false with the error recorded
 */
bool adzi_region_gradients(adzi_node *node, int first, adzi_graded outputs, adzi_graded targets);

#endif
