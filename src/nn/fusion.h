/* Computes several modules in one call, if their types declare what they compute. */
#ifndef ADZI_NN_FUSION_H
#define ADZI_NN_FUSION_H

#include "nn/module.h"

/**
 * Note [Fused modules]
 * A module's type can declare that the module is a linear layer (`linear_parts`), or that it maps
 * each element by itself (`elementwise_step`). A linear layer and the steps after it can then be
 * computed in one call. This is done only if no error can occur that names one of the modules: x
 * fits the layer, and anomaly mode is off. Otherwise the caller calls the modules one by one, so
 * that a message names the module that failed.
 */

/**
 * Adds what `module` computes to `steps`, which begins as adzi_no_steps(). `steps` can hold one
 * activation function and one dropout after it.
 *
 * @return false, and `steps` is unchanged, if the module is no elementwise step or if there is no
 *         position for it: a second activation, a second dropout, or an activation after a dropout
 */
bool adzi_add_step(adz_module *module, adz_bias_activation_options *steps);

/**
 * Note [A ReLU after a maximum]
 * max(relu(x)) = relu(max(x)), and the gradients are the same: where every element of a window is 0
 * or less, the gradient is 0 either way. After a pooling the ReLU has a quarter of the elements or
 * fewer, and neither x nor relu(x) has to be kept for the backward.
 *
 * Returns whether `relu` is a ReLU and `next` a maximum whose turns can be exchanged. x, the
 * argument of `relu`, must be a result that nobody else has: a ReLU in place would show otherwise.
 * In anomaly mode modules keep their order.
 */
bool adzi_relu_can_wait(adz_module *relu, adz_module *next, const adz_tensor *x);

/** The options of no step at all: the identity as activation function, no dropout. */
adz_bias_activation_options adzi_no_steps(void);

/**
 * Computes a linear layer and the steps after it in one operator, adz_linear_relu_dropout. The
 * result has the bits of separate calls.
 *
 * @return the result, NULL for an error, or ADZ_NONE if the operator does not compute these steps
 */
adz_tensor *adzi_forward_linear(
    adz_module *layer, const adz_bias_activation_options *steps, adz_tensor *x);

/**
 * Computes dropout(activation(layer(x)) gate(x)), where NULL means no gate. The products come
 * first; one pass then applies bias, activation, gate and dropout. The last bits can differ from
 * those of separate calls, because a separate product can begin its sums with the bias.
 *
 * @return the result, NULL for an error, or ADZ_NONE if the modules are not linear layers or the
 *         result is so small that the pass saves nothing
 */
adz_tensor *adzi_forward_gated(
    adz_module *layer, adz_module *gate, const adz_bias_activation_options *steps, adz_tensor *x);

#endif
