/* What adz_set_debug turns on: a list of the living tensors, and headers that are not used again
 * after their tensor has ended. A stale pointer is then always noticed. */
#ifndef ADZI_TENSOR_DEBUG_H
#define ADZI_TENSOR_DEBUG_H

#include <stdatomic.h>

#include "tensor/tensor.h"

/** Whether debug mode is on. */
extern atomic_bool adzi_debug_on;

/** Adds a new header to the list and returns it. If memory is refused, the list lacks it. */
adz_tensor *adzi_debug_made(adz_tensor *t);

/** Removes the header of a tensor that ends from the list. Returns true if the header's memory is
 * kept; debug mode frees it when it is turned off. */
bool adzi_debug_ended(adz_tensor *t);

/** Keeps the memory of an object that has ended until debug mode is turned off, so that a stale
 * pointer finds the object's mark. False if debug mode is off; the caller then frees the block. */
bool adzi_debug_keep_block(void *block, size_t bytes);

#endif
