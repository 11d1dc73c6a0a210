/* Memory from the system, where no allocator of the user's is set. */
#ifndef ADZI_BASE_SYSTEM_MEMORY_H
#define ADZI_BASE_SYSTEM_MEMORY_H

#include <stddef.h>

/** A block on a multiple of `alignment`, a power of two that divides `bytes`; for 128 kB and more
 * at most 4096. NULL: refused. */
void *adzi_system_allocate(size_t bytes, size_t alignment);

/** Gives it back; `bytes` as they were asked for. */
void adzi_system_deallocate(void *block, size_t bytes);

#endif
