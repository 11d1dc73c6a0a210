/* Memory for everything that the library makes. Each thread has free lists. They are filled from
 * lists that all threads share. The shared lists are filled from one allocator: the system's, or
 * the one that adz_set_allocator set (docs/design.md, "Memory"). */
#ifndef ADZI_BASE_ALLOC_H
#define ADZI_BASE_ALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/base.h"
#include "base/threads/cache.h"

#if defined(__SANITIZE_ADDRESS__)
#define ADZI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADZI_ASAN 1
#endif
#endif
#ifdef ADZI_ASAN
#include <sanitizer/asan_interface.h>
#define ADZI_POISON(p, n)   __asan_poison_memory_region((p), (n))
#define ADZI_UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define ADZI_POISON(p, n)   ((void)(p), (void)(n))
#define ADZI_UNPOISON(p, n) ((void)(p), (void)(n))
#endif

/** Every block starts at a multiple of so many bytes. */
#define ADZI_ALIGNMENT 64

/**
 * A block of at least `bytes`, 64-byte aligned, from the thread's free list, the shared pool or
 * the allocator. Contents are undefined. NULL when memory was refused; the caller records the
 * error.
 */
void *adzi_alloc(size_t bytes);

/** Frees a block. `bytes` is the number that adzi_alloc was asked for. NULL changes nothing. */
void adzi_free(void *block, size_t bytes);

/** A block of at least `bytes`, filled with zeros, as adzi_alloc gives it. */
void *adzi_alloc_zero(size_t bytes);

/**
 * Grows an array to hold at least `needed` elements. Use it before an element is appended.
 *
 * @param array     address of the pointer to the elements (of any type), which may be NULL
 * @param capacity  how many elements the array has room for; updated
 * @param needed    how many it must have room for
 * @param element   bytes of one element
 * @return          false if memory was refused; `*array` and `*capacity` are unchanged then
 */
bool adzi_grow(void *array, size_t *capacity, size_t needed, size_t element);

/** A copy of a string, which the caller frees with adzi_string_free. NULL if memory was refused. */
char *adzi_string_copy(const char *text);
void adzi_string_free(char *text);

/** For tests: makes the calling thread's Nth request from now fail. 1 is the next request, 0 lets
 * all succeed. */
void adzi_alloc_fail_at(int64_t n);

/** Whether the request chosen with adzi_alloc_fail_at has been reached. */
bool adzi_alloc_failed(void);

/** Called before a block is freed, by the thread that frees it. */
typedef void (*adzi_watcher)(const char *block, size_t bytes);

/** The watcher of all threads; NULL while there is no plan. A plan must not run after memory that
 * its launches use has been freed. */
extern _Atomic(adzi_watcher) adzi_free_watcher;

/** Tells the watcher that nobody looks for something at this position any more, although the memory
 * may not be free yet. */
void adzi_leave_memory(const void *block, size_t bytes);

/** The number of requests that this thread has made, those served by its free lists included. */
uint64_t adzi_alloc_requests(void);

/** The exact number of tensor headers alive in the process. */
int64_t adzi_live_tensors(void);

/** The number of bytes alive in the process. Exact while no other thread allocates. */
int64_t adzi_live_bytes(void);

/* ---- the layers below adzi_alloc
 * -----------------------------------------------------------------
 *
 * From the ground: system_memory.c asks the system, blocks.c holds what all threads share, limit.c
 * counts, alloc.c serves requests from the lists of the thread. None of them records an error.
 */

/** The size of the blocks on free list `cls`. */
static inline size_t adzi_class_bytes(uint32_t cls)
{
    return (size_t)cls * ADZI_SMALL_STEP;
}

/** Whether a list of so many blocks is long enough to be handed on as a chain. */
static inline bool adzi_is_chain(uint32_t count, uint32_t cls)
{
    return count >= ADZI_CHAIN_LEAST && count * adzi_class_bytes(cls) >= ADZI_CHAIN_BYTES;
}

/** Takes a large block from the shared lists or the allocator. NULL if memory was refused. */
void *adzi_large_take(size_t bytes);

/** Returns a large block to the shared lists. */
void adzi_large_return(void *gone, size_t bytes);

/** Take a block of exactly so many bytes from the allocator, and give it back. */
void *adzi_plain_take(size_t bytes);
void adzi_plain_return(void *gone, size_t bytes);

/** Puts blocks on the empty list `cls`. They are the chain that was put aside, else the next block
 * of the span, else a chain or a span from the shared part. False if memory was refused. */
bool adzi_cache_refill(adzi_cache *cache, uint32_t cls);

/** Puts the list `cls` aside as a chain. A chain that was there already goes to the shared lists.
 */
void adzi_cache_put_aside(adzi_cache *cache, uint32_t cls);

/** Gives blocks of a thread that holds more than ADZI_CACHE_BYTES to the shared lists. */
void adzi_cache_limit(adzi_cache *cache);

/** Gives all blocks of a thread's cache to the shared lists. */
void adzi_cache_empty(adzi_cache *cache);

/** Gives the free memory of the shared lists back to the allocator. */
void adzi_release_unused(void);

/** Makes `allocator` the source of all memory, or the system if it is NULL. Returns 0, or the bytes
 * of the present allocator that are still held, and changes nothing then. */
size_t adzi_use_allocator(const adz_allocator *allocator);

/** Gives the allocator that is set. False, with NULL in all members, if memory is the system's. */
bool adzi_get_allocator(adz_allocator *allocator);

/** The limit on live bytes; 0 for no limit. */
size_t adzi_memory_limit(void);

/** Stores the limit. Use adzi_limit_memory, which tells the threads. */
void adzi_set_limit(size_t bytes);

/** Sets the limit. Every thread looks at it with its next request. */
void adzi_limit_memory(size_t bytes);

/** Whether the limit leaves room for so many bytes. If so, the thread may allocate some more bytes
 * before it looks at the limit again (Note [What the limit counts]). */
bool adzi_has_room(adzi_cache *cache, size_t bytes);

/** Adds the live bytes and tensors that a thread has counted itself to the process's counts. */
void adzi_cache_flush(adzi_cache *cache);

/** Bytes that the library holds from the system or the user's allocator, live and cached. */
size_t adzi_held_bytes(void);

/** All counts of the process. Adds those of the calling thread to the process's counts first. */
adz_memory_info adzi_measure_memory(void);

/** Makes the present live bytes the highest number so far. */
void adzi_reset_peak(void);

/** Counts a tensor header that this thread has made (+1) or freed (-1). Other threads read the
 * count. */
static inline void adzi_count_tensor(adzi_cache *cache, int change)
{
    __atomic_store_n(&cache->live_tensors, cache->live_tensors + change, __ATOMIC_RELAXED);
}

#endif
