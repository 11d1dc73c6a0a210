/* Memory from the system. It is used as long as adz_set_allocator has set no other allocator. */
#ifndef ADZI_BASE_SYSTEM_MEMORY_H
#define ADZI_BASE_SYSTEM_MEMORY_H

#include <stddef.h>

/** A block that starts at a multiple of `alignment`, which is a power of two and divides `bytes`.
 * For blocks of 128 kB and more it is at most 4096. NULL if memory was refused. */
void *adzi_system_allocate(size_t bytes, size_t alignment);

/** Gives a block back. `bytes` is the size with which it was allocated. */
void adzi_system_deallocate(void *block, size_t bytes);

#endif
