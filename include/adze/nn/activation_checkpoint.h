/**
 * @file activation_checkpoint.h
 * Activations that are computed again in the backward instead of being kept.
 */
#ifndef ADZE_NN_ACTIVATION_CHECKPOINT_H
#define ADZE_NN_ACTIVATION_CHECKPOINT_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Trades time for memory: a module whose inner activations are not kept.
 *
 *     y = module(x)
 *
 * Where gradients are recorded, the forward keeps the arguments alone and the backward calls the
 * module again to get at the rest; elsewhere the call is the module's own. Arguments and results
 * are those of the module, one or several. Results and gradients are the same bit for bit (those
 * of higher order but for rounding); checkpoints nest.
 *
 * The second call sees what the first one saw: generators that the first drew from start where they
 * stood (up to 16 of them, which must live until the backward), and buffers are what they were, if
 * the module replaced them, as recurrent ones do with what they carry. Buffers that the first call
 * changed in place, running statistics, are not changed again, but it reads them as they are by
 * then. Arguments and parameters that were changed in place since, and a module in another mode,
 * are errors in the backward.
 *
 * @param module  becomes the child "module"; its reference is taken over in every case, failure
 *                included
 * @return        yours, end it with adz_module_free; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                recorded
 * @see           torch.utils.checkpoint.checkpoint
 */
ADZ_API adz_module *adz_activation_checkpoint_new(adz_module *module);

#ifdef __cplusplus
}
#endif

#endif
