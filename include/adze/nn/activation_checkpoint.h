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
 * Makes a module around another one whose inner activations are not kept. It takes more time and
 * less memory.
 *
 *     y = module(x)
 *
 * Where gradients are recorded, the forward keeps the arguments only, and the backward calls the
 * module again. Elsewhere the call is the module's own. Arguments and results are those of the
 * module, one or several. Results and gradients have the bits that they have without a checkpoint;
 * gradients of higher order agree but for rounding. Checkpoints nest.
 *
 * The second call repeats the conditions of the first one. Generators start where they stood in the
 * first call (up to 16 of them, which must live until the backward). Buffers that the module
 * replaced, such as a recurrent state, have their earlier values. Buffers that the first call
 * changed in place, such as running statistics, are not changed again, and the second call reads
 * their current values.
 *
 * It is an error in the backward if an argument or a parameter was changed in place since the
 * forward, or if the module is in another mode.
 *
 * @param module  becomes the child "module"; its reference is taken over in every case, failure
 *                included
 * @return        yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                recorded
 * @see           torch.utils.checkpoint.checkpoint
 */
ADZ_API adz_module *adz_activation_checkpoint_new(adz_module *module);

#ifdef __cplusplus
}
#endif

#endif
