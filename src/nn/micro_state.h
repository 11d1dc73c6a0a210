/* What a module keeps from call to call, while it trains with micro-batches (adz_data_parallel).
 *
 * Note [State of micro-batches]
 *
 * Results must not depend on which rank computes which micro-batch, nor on the micro-batches that a
 * rank has computed before. Two kinds of state would break that:
 *
 * - Running statistics (batch norm). While a micro-batch is computed, batch norm hands its batch
 *   statistics out and leaves the running ones alone. When the statistics of all micro-batches are
 *   known on all ranks, each rank updates its running statistics with them, in order. This
 *   concerns BatchNorm1d. A user's module that hands its own running tensors to adz_batch_norm
 *   moves them on its rank alone.
 * - Carried values (AWD-LSTM, QRNN, Transformer-XL): buffers outside the state dict, of modules
 *   whose type has `reset` or `select_hidden`. Each micro-batch has its own. They are exchanged
 *   when a micro-batch is entered and left.
 *
 * Between micro-batches the module itself carries the values of the rank's first micro-batch.
 * adz_module_reset then reaches the values of all the rank's micro-batches. Anything else that
 * replaces the module's values there, such as a call in evaluation, is undone when a micro-batch is
 * entered, so that one rank may evaluate the model between two steps. Inside a micro-batch, reset
 * and adz_module_select_hidden concern that micro-batch alone.
 *
 * A reset by a module's forward is part of its call, and reaches no other micro-batch.
 */
#ifndef ADZI_NN_MICRO_STATE_H
#define ADZI_NN_MICRO_STATE_H

#include "nn/module.h"

typedef struct adzi_micro_state adzi_micro_state;

/**
 * Collects the batch norms and the carried buffers of a module and its children. They are kept, so
 * that they outlive a change of the tree.
 *
 * @param micro_batches  of a whole batch
 * @param first, count   this rank's micro-batches are first .. first+count-1. Each of them starts
 *                       with what the module carries now
 * @return               NULL with the error recorded under `op`, and nothing changed, if memory was
 *                       refused or another state has collected one of these modules
 */
adzi_micro_state *adzi_micro_state_new(
    const char *op, adz_module *module, int micro_batches, int first, int count);

/** Ends it. The module keeps the carried values of the rank's first micro-batch. A micro-batch that
 * is entered is left before. */
void adzi_micro_state_free(adzi_micro_state **state);

/** How many f64 numbers batch norm hands out per micro-batch, 0 or more. */
size_t adzi_micro_state_numbers(const adzi_micro_state *state);

/** Makes the module compute micro-batch `micro`, one of this rank's. Fails, with nothing changed,
 * if the module's batch norms or carried buffers are no longer those that were collected, or if
 * memory was refused. If another micro-batch is entered, it is left and its statistics are lost. */
adz_status adzi_micro_state_enter(const char *op, adzi_micro_state *state, int micro);

/** Ends the micro-batch that was entered last. Its statistics are written to
 * numbers[adzi_micro_state_numbers], unless `numbers` is NULL. A batch norm that was not called, or
 * was called in evaluation, leaves NaNs. A batch norm that was called several times hands out the
 * last call's statistics. Cannot fail. Does nothing if none was entered. */
void adzi_micro_state_leave(adzi_micro_state *state, double *numbers);

/** Updates the running statistics from numbers[micro_batches][adzi_micro_state_numbers], in order,
 * and counts a batch per micro-batch. Batch norms whose numbers are all NaN are left alone. Cannot
 * fail. */
void adzi_micro_state_apply(adzi_micro_state *state, const double *numbers);

/* ---- checkpoints ---------------------------------------------------------------------------- */

/** The number of carried buffers per micro-batch. */
size_t adzi_micro_state_carried(const adzi_micro_state *state);

/** The name of carried buffer i, with the path of its module: "encoder.hidden_0_h". Lives as long
 * as the state. */
const char *adzi_micro_state_name(const adzi_micro_state *state, size_t i);

/** Carried buffer i of one of this rank's micro-batches, borrowed; ADZ_NONE if it carries nothing.
 */
adz_tensor *adzi_micro_state_get(const adzi_micro_state *state, int micro, size_t i);

/** Replaces it. The tensor is retained. Cannot fail. */
void adzi_micro_state_set(adzi_micro_state *state, int micro, size_t i, adz_tensor *t);

/* ---- what modules call ---------------------------------------------------------------------- */

/** Where a batch norm, whose `micro` is not NULL, writes its statistics now. NULL if it is to move
 * its running statistics itself: no micro-batch is entered, or its buffers are not those that were
 * collected. That is so in the second call of an activation checkpoint, which gets copies. */
double *adzi_micro_state_batch(const adz_module *module);

/** adz_module_reset has reset this module. */
void adzi_micro_state_was_reset(const adz_module *module);

#endif
