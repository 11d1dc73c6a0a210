/* What adz_set_debug turns on: a list of the living tensors, and objects whose addresses are not
 * used again (Note [Addresses that are used once] in base/handle.h). */
#ifndef ADZI_TENSOR_DEBUG_H
#define ADZI_TENSOR_DEBUG_H

#include <stdatomic.h>

#include "tensor/tensor.h"

/** Whether debug mode is on. */
extern atomic_bool adzi_debug_on;

/** Adds a new header to the list and returns it. If memory is refused, the list lacks it. */
adz_tensor *adzi_debug_made(adz_tensor *t);

/** Removes the header of a tensor that ends from the list. */
void adzi_debug_ended(adz_tensor *t);

#endif
