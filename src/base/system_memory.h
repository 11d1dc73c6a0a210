/* Memory from the system. It is used as long as adz_set_allocator has set no other allocator. */
#ifndef ADZI_BASE_SYSTEM_MEMORY_H
#define ADZI_BASE_SYSTEM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Note [Memory for debuggers]
 * Tools such as valgrind and AddressSanitizer watch malloc and free. They see neither a leak nor a
 * stale pointer in memory that is cut from slabs and used again. If the environment has
 * ADZE_DEBUG_MEMORY=1 when the library is loaded, every block is a block of malloc, of exactly the
 * size that was asked for, and is given back at once. */

/** Whether blocks are neither cut from slabs nor kept. It never changes after the library was
 * loaded. */
extern bool adzi_plain_memory;

/** A block that starts at a multiple of `alignment`, which is a power of two and divides `bytes`.
 * For blocks of 128 kB and more it is at most 4096. NULL if memory was refused. */
void *adzi_system_allocate(size_t bytes, size_t alignment);

/** Gives a block back. `bytes` is the size with which it was allocated. */
void adzi_system_deallocate(void *block, size_t bytes);

/** Reserves address space, at a multiple of `bytes`, which is a power of two. Its pages read as
 * zeros and take memory when they are written to. NULL if the system or the build does not do that.
 */
void *adzi_system_reserve(size_t bytes);

/** Gives the memory of reserved pages back. They read as zeros then. */
void adzi_system_discard(void *block, size_t bytes);

#endif
