/* Searching a state, for the code that loads one into a module. */
#ifndef ADZI_NN_STATE_H
#define ADZI_NN_STATE_H

#include "adze/nn/state.h"

/** The index of the entry with this name, or adz_state_dict_count(state) if there is none. */
size_t adzi_state_find(const adz_state_dict *state, const char *name);

#endif
