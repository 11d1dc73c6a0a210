/* What adz_set_debug turns on: a list of what is alive, and a quarantine for dead headers. */
#ifndef ADZI_TENSOR_DEBUG_H
#define ADZI_TENSOR_DEBUG_H

#include <stdatomic.h>

#include "tensor/tensor.h"

extern atomic_bool adzi_debug_on;

/** Enters a new header into the list. Without memory it goes unlisted. Returns it. */
adz_tensor *adzi_debug_made(adz_tensor *t);

/** Takes a dying header off the list; true when the quarantine keeps its block. */
bool adzi_debug_ended(adz_tensor *t);

#endif
