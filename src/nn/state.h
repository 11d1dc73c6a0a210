/* States, for loading. */
#ifndef ADZI_NN_STATE_H
#define ADZI_NN_STATE_H

#include "adze/nn/state.h"

/** Where a name stands; adz_state_count when nowhere. */
size_t adzi_state_find(const adz_state *state, const char *name);

#endif
