/* The gradients of leaves: when they are complete, and where they lie. */
#ifndef ADZI_AUTOGRAD_LEAF_H
#define ADZI_AUTOGRAD_LEAF_H

#include "autograd/run.h"

/* Note [When a leaf is ready]
 *
 * A backward counts the edges and outputs that lead to each leaf, and counts down as it visits
 * them. At zero the gradient of the leaf is complete, and the leaf is ready. Its hooks run then,
 * while the backward goes on with other nodes.
 *
 * The gradient of an ordinary leaf is committed after the last node, so that a backward which fails
 * changes nothing. There are two exceptions, leaves whose gradient is committed when they are
 * ready: a leaf with a place, because its gradient can be sent to other ranks at once, and a leaf
 * with post-accumulate hooks, because the hooks use the gradient. If a backward fails after it has
 * committed such a gradient, the gradient becomes zero and is marked as spoiled. No optimizer makes
 * a step with a spoiled gradient. Zeroing, dropping or setting the gradient takes the mark away.
 */

/* Note [Gradients with a place]
 *
 * The gradient of a leaf may have a place: a tensor around a slice of a larger buffer
 * (nn/flat_parameters.c). Outside of a backward `grad` is then either NULL or the place itself, and
 * the place holds zeros while `grad` is NULL.
 *
 * A kernel may write a gradient to the place directly (adzi_scratch_gradient), if there is no
 * earlier gradient to be added. Later contributions are added there. In all other cases the sum is
 * made elsewhere and added to the place when the leaf is ready. Every sum therefore has the order
 * of an ordinary leaf, and the bits are equal.
 *
 * While a run sums in a place, another run inside it may reach the same leaf. The inner run, and
 * adz_tensor_set_grad, then store an ordinary tensor as the gradient. The outer run adds it to the
 * place when its own sum is complete.
 */

/** Whether the gradient of a leaf may be stored in its place: it has one, and no running backward
 * sums there. */
bool adzi_place_is_free(const adzi_gradient *gradient);

/** Drops the gradient of a leaf. A place is set to zero. Cannot fail. */
void adzi_gradient_drop(adzi_gradient *gradient);

/** Drops the gradient of a leaf whose place the caller has set to zero. Cannot fail. */
void adzi_gradient_taken(adzi_gradient *gradient, const char *op);

/** Makes a copy of `t` the gradient of a leaf, by traced calls. False with the error
 * recorded. */
bool adzi_gradient_set_traced(adzi_gradient *gradient, adz_tensor *t);

/** Drops the gradient of a leaf. A trace is told of it also if there is none. Cannot fail, but for
 * a trace, which notices. */
static inline void adzi_leaf_drop_gradient(adz_tensor *leaf)
{
    if (leaf->gradient == NULL && adzi_self()->tracer != NULL && leaf->requires_grad) {
        adzi_gradient_of("zero_grad", leaf);
    }
    if (leaf->gradient != NULL) {
        adzi_gradient_drop(leaf->gradient);
    }
}

/** Sets the gradient of a leaf to zero if there is one. Cannot fail. */
void adzi_gradient_zero(adzi_gradient *gradient);

/** Makes the place of a leaf its gradient. The caller has written the elements. */
void adzi_gradient_placed(adzi_gradient *gradient, const char *op);

/** Runs the hooks of a leaf that is ready, and commits its gradient where that has to be done
 * before the end. False with the error recorded. */
bool adzi_leaf_ready(adzi_run *run, adzi_leaf_slot *slot);

/** Counts one edge or output less. If it was the last one, the leaf is ready. False with the error
 * recorded. */
static inline bool adzi_leaf_count_down(adzi_run *run, adzi_leaf_slot *slot)
{
    if (slot->pending == 0 || --slot->pending > 0 || slot->grad == NULL) {
        return true;
    }
    const adzi_gradient *gradient = slot->leaf->gradient;
    const bool plain =
        gradient->hooks == NULL && gradient->after == NULL && gradient->place == NULL;
    return plain || adzi_leaf_ready(run, slot);
}

/** Commits the gradients of all leaves that still wait: all of them or, after an error, none. */
bool adzi_leaves_commit(adzi_run *run);

/** Puts a leaf right after a backward that failed or was left by a jump. Cannot fail. */
void adzi_leaf_undo(adzi_leaf_slot *slot);

#endif
