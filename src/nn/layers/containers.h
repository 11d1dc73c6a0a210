/* Containers, for those who print them. */
#ifndef ADZI_NN_LAYERS_CONTAINERS_H
#define ADZI_NN_LAYERS_CONTAINERS_H

#include "adze/nn/type.h"

extern const adz_module_type adzi_sequential_type, adzi_module_list_type;

/** A Sequential's call, for types of other names. */
adz_status adzi_sequential_call(adz_module *self, const adz_values *in, adz_values *out);

/** A container of a type with children "0", "1", ...; their references are taken over in every
 * case. */
adz_module *adzi_container_new(
    const char *op, const adz_module_type *type, adz_module *const *modules, size_t count);

#endif
