/* Visits the nodes of a running backward. */
#ifndef ADZI_AUTOGRAD_ENGINE_H
#define ADZI_AUTOGRAD_ENGINE_H

#include "autograd/run.h"

/** Runs the backward of every node that a gradient reaches. The outputs have their gradients. */
bool adzi_run_nodes(adzi_run *run, adz_tensor *const *outputs, size_t n);

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
