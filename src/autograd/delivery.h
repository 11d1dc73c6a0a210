/* Where a running backward collects gradients, and how they get there. */
#ifndef ADZI_AUTOGRAD_DELIVERY_H
#define ADZI_AUTOGRAD_DELIVERY_H

#include "autograd/run.h"

/** The run's slot for the gradient of a leaf, made when absent. With `hold` the slot retains the
 * leaf: use it where no edge of the graph does. NULL with the error recorded if memory was refused.
 */
adzi_leaf_slot *adzi_run_leaf(adzi_run *run, adz_tensor *leaf, bool hold);

/** Retains the gradient `t` in an empty slot, or adds it to the sum in the slot. False with the
 * error recorded if memory was refused. */
bool adzi_run_deliver(adzi_run *run, adz_tensor **slot, adz_tensor *t);

/** Delivers a gradient of `output`, which is a leaf or the result of a node of the run. */
bool adzi_run_deliver_to(adzi_run *run, adz_tensor *output, adz_tensor *t);

/** Delivers the gradients that the backward of a node has computed, dx[i] that of input i. Each is
 * first summed over the dimensions in which its input was broadcast. False with the error recorded.
 */
bool adzi_deliver_inputs(adzi_run *run, const adzi_node *node, adz_tensor *const *dx);

#endif
