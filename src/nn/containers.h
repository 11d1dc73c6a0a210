/* The type of ModuleList, by which the printer recognises lists. */
#ifndef ADZI_NN_CONTAINERS_H
#define ADZI_NN_CONTAINERS_H

#include "adze/nn/type.h"

extern const adz_module_type adzi_module_list_type;

#endif
