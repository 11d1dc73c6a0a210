/* Activations, for networks that take one as an option. */
#ifndef ADZI_NN_LAYERS_ACTIVATIONS_H
#define ADZI_NN_LAYERS_ACTIVATIONS_H

#include "adze/nn/activations.h"

/** A reference of the caller's own to `module`, else a module of `function`, else of `activation`.
 */
adz_module *adzi_activation_choose(const char *op, adz_activation activation,
    adz_activation_function function, adz_module *module);

/** Whether the module is a rectifier. */
bool adzi_is_relu(const adz_module *module);

/** Whether the module is one of the activations by name, and which. */
bool adzi_activation_of(const adz_module *module, adz_activation *activation);

#endif
