/* States, for loading. */
#ifndef ADZI_NN_STATE_H
#define ADZI_NN_STATE_H

#include "adze/nn/state.h"

/** Where a name stands, looked for from entry `hint` on; adz_state_count when nowhere. */
size_t adzi_state_find(const adz_state *state, const char *name, size_t hint);

/** A hash of a text, all 64 bits of which are good. */
uint64_t adzi_hash(const char *text);

#endif
