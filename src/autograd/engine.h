/* Visits the nodes of a running backward. */
#ifndef ADZI_AUTOGRAD_ENGINE_H
#define ADZI_AUTOGRAD_ENGINE_H

#include "autograd/run.h"

/** Runs the backward of every node that a gradient reaches. The outputs have their gradients. */
bool adzi_run_nodes(adzi_run *run, adz_tensor *const *outputs, size_t n);

/**
 * adz_autograd_grad with create_graph and allow_unused, for a forward derivative: the upstream
 * gradients are zeros, and of the results only their derivatives by these zeros are asked for, in
 * about `directions` directions and without a graph. A node may then return zeros with a node of
 * its own kind, which computes products of the Jacobian with vectors.
 */
adz_status adzi_autograd_grad_forward(adz_tensor *const *outputs, adz_tensor *const *gradients,
    size_t n_outputs, adz_tensor *const *inputs, size_t n_inputs, int64_t directions,
    adz_tensor **results);

/** The directions of the running backward of a node, 0 if it is not for a forward derivative. */
static inline int64_t adzi_directions(const adzi_node *node)
{
    return node->entry->run->directions;
}

/** What is called after each node that a backward of this thread visits; `call` is NULL for
 * nothing. It must not fail, jump or start a backward. Communication that moves only when it is
 * called uses it. */
typedef struct adzi_node_watch {
    void (*call)(void *user);
    void *user;
} adzi_node_watch;

/** Sets what is called after each node, and returns what it was before, to be restored. */
adzi_node_watch adzi_watch_nodes(adzi_node_watch watch);

/**
 * Continues the running backward through the graph behind `outputs`, with these gradients. A node
 * calls it whose backward has computed its results again, now with a graph. All nodes of that graph
 * which the run has not reached yet are visited before anything older. So every gradient is summed
 * in the order that a graph recorded from the start would give. The outputs may depend only on what
 * the node depends on.
 */
bool adzi_run_within(
    adzi_node *node, adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n);

#endif
