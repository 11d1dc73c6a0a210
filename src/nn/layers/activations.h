/* The choice of an activation module, for networks that take an activation as an option. */
#ifndef ADZI_NN_LAYERS_ACTIVATIONS_H
#define ADZI_NN_LAYERS_ACTIVATIONS_H

#include "adze/nn/activations.h"

/**
 * The activation module that a network's options ask for. This is a new reference to `module`, or a
 * new module of `function` if `module` is NULL, or one of `activation` if both are NULL. The caller
 * owns the result. It is NULL with ADZ_ERR_ARGUMENT recorded under `op` if `function` and `module`
 * are both given.
 */
adz_module *adzi_activation_choose(const char *op, adz_activation activation,
    adz_activation_function function, adz_module *module);

#endif
