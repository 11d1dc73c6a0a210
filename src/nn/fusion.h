/* Several modules in one call, where their types declare what they compute. */
#ifndef ADZI_NN_FUSION_H
#define ADZI_NN_FUSION_H

#include "nn/module.h"

/**
 * Note [Fused modules]
 * A module's type declares two things: that the module is a linear layer (`linear_parts`), or that
 * it maps each element by itself (`elementwise_step`). A linear layer and the steps after it can
 * then be computed in one call. That happens only where nothing has to be reported under a module's
 * name: x must fit the layer, and anomaly mode must be off. Otherwise the caller calls the modules
 * one by one, and the right one of them reports the error.
 */

/**
 * Adds what `module` computes to `steps`, which begins as the identity without dropout.
 *
 * @return false, and `steps` is unchanged, if the module is no elementwise step or if it cannot
 *         follow what is already there: there is one activation function, and dropout comes after
 * it
 */
bool adzi_add_step(adz_module *module, adz_bias_activation_options *steps);

/** A list of steps without any: the identity, no dropout. */
adz_bias_activation_options adzi_no_steps(void);

/**
 * The steps after a linear layer, in the operator that computes the layer. It has the bits of
 * separate calls.
 *
 * @return the result, NULL for an error, or ADZ_NONE if the operator does not compute these steps
 */
adz_tensor *adzi_forward_linear(
    adz_module *layer, const adz_bias_activation_options *steps, adz_tensor *x);

/**
 * The steps after a linear layer in one pass over its product: bias, activation function, times the
 * layer `gate` of x (NULL: no gate), dropout. The last bits can differ from those of separate
 * calls, because a product can begin its sums with the bias.
 *
 * @return the result, NULL for an error, or ADZ_NONE if the modules are not linear layers or the
 *         result is so small that the pass saves nothing
 */
adz_tensor *adzi_forward_gated(
    adz_module *layer, adz_module *gate, const adz_bias_activation_options *steps, adz_tensor *x);

#endif
