/* Activations, for networks that take one as an option. */
#ifndef ADZI_NN_LAYERS_ACTIVATIONS_H
#define ADZI_NN_LAYERS_ACTIVATIONS_H

#include "adze/nn/activations.h"

/**
 * The activation module that a network's options ask for: a new reference to `module` unless NULL,
 * else a module of `function` unless NULL, else one of `activation`. Both together are an error.
 */
adz_module *adzi_activation_choose(const char *op, adz_activation activation,
    adz_activation_function function, adz_module *module);

#endif
