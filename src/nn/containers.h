/* Types of containers: the printer recognises lists, and parametrisations stand in a dict. */
#ifndef ADZI_NN_CONTAINERS_H
#define ADZI_NN_CONTAINERS_H

#include "adze/nn/type.h"

extern const adz_module_type adzi_module_list_type;
extern const adz_module_type adzi_module_dict_type;

#endif
