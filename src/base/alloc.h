/* Memory: one hook below, free lists above (docs/design.md, "Memory"). */
#ifndef ADZI_BASE_ALLOC_H
#define ADZI_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/** Every block starts on such a boundary. */
#define ADZI_ALIGNMENT 64

/**
 * A block of at least `bytes`, 64-byte aligned, from the thread's free list, the shared pool or
 * the hook. Contents are undefined. NULL when memory was refused; the caller records the error.
 */
void *adzi_alloc(size_t bytes);

/** What adz_memory_info_get counts, and the limit: for messages. 0 is no limit. */
typedef struct adzi_memory_counts {
    size_t live, cached, limit;
} adzi_memory_counts;

adzi_memory_counts adzi_count_memory(void);

/** Returns a block; `bytes` is what adzi_alloc was asked for. NULL is left alone. */
void adzi_free(void *block, size_t bytes);

/** adzi_alloc of a zeroed block. */
void *adzi_alloc_zero(size_t bytes);

/**
 * Grows an array to hold `needed` elements. `*array` and `*capacity` stay as they are on failure.
 */
bool adzi_grow(void *array, size_t *capacity, size_t needed, size_t element);

/** A copy of a string, ended with adzi_string_free; NULL when memory was refused. */
char *adzi_string_copy(const char *text);
void adzi_string_free(char *text);

/** For tests: makes the calling thread's Nth request from now fail. 1 is the next one, 0 is none.
 */
void adzi_alloc_fail_at(int64_t n);

/** Whether the request chosen with adzi_alloc_fail_at has been reached. */
bool adzi_alloc_failed(void);

/**
 * For tests that replay launches. While `keep` is set, a block that the calling thread frees is
 * given to `keep` instead. The block stays allocated, so that launches recorded earlier may still
 * write to it. Once `keep` is NULL again, the test frees these blocks with adzi_free.
 */
void adzi_alloc_keep(void (*keep)(void *block, size_t bytes));

/** The number of requests that this thread has made, those served by its free lists included. */
uint64_t adzi_alloc_requests(void);

/** The exact number of tensor headers alive in the process. */
int64_t adzi_live_tensors(void);

/** The number of bytes alive in the process. Exact while no other thread allocates. */
int64_t adzi_live_bytes(void);

/* Per-thread part, embedded in the thread's state. */
enum {
    ADZI_SMALL_CLASSES = 144, /* free lists, for blocks of up to 144 * 64 bytes */
    ADZI_SMALL_STEP = 64,
    ADZI_FLUSH_BYTES = 65536, /* counted by a thread before it adds them to the process's count */
    ADZI_CHAIN_BYTES = 32768, /* a list of at least so many bytes, and */
    ADZI_CHAIN_LEAST = 8,     /* at least so many blocks, is handed on as a chain */
    ADZI_CACHE_BYTES = 262144 /* of small blocks that a thread keeps:
                                 Note [Where memory comes from] */
};

typedef struct adzi_block {
    struct adzi_block *next;
} adzi_block;

typedef struct adzi_cache {
    adzi_block *free[ADZI_SMALL_CLASSES + 1];
    uint32_t count[ADZI_SMALL_CLASSES + 1];   /* blocks on the list `free` */
    adzi_block *full[ADZI_SMALL_CLASSES + 1]; /* a chain put aside, or NULL */
    char *fresh[ADZI_SMALL_CLASSES + 1];      /* the rest of the span that is being cut up */
    uint32_t fresh_left[ADZI_SMALL_CLASSES + 1];
    uint32_t full_count[ADZI_SMALL_CLASSES + 1]; /* blocks of the chain `full` */
    uint8_t spans[ADZI_SMALL_CLASSES + 1]; /* taken so far; each has twice the last one's size */
    int64_t ahead;        /* live_bytes may grow to this before the memory limit is asked */
    int64_t live_bytes;   /* not yet added to the process's count */
    int64_t live_tensors; /* not yet added to the process's count */
    void (*keep)(void *block, size_t bytes); /* see adzi_alloc_keep; NULL usually */
    int64_t fail_in;
    bool failed;
    uint64_t requests;
} adzi_cache;

/* ---- between alloc.c, blocks.c and memory.c ------------------------------------------------- */

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

/** Takes a large block from the shared lists or the hook. NULL if memory was refused. */
void *adzi_large_take(size_t bytes);

/** Returns a large block to the shared lists. */
void adzi_large_return(void *gone, size_t bytes);

/** Puts blocks on the empty list `cls`: the chain that was put aside, the next block of the span
 * that is being cut up, or what the shared lists give. False if memory was refused. */
bool adzi_cache_refill(adzi_cache *cache, uint32_t cls);

/** Puts the list `cls` aside as a chain. A chain that was there already goes to the shared lists.
 */
void adzi_cache_put_aside(adzi_cache *cache, uint32_t cls);

/** Gives blocks of a thread that holds more than ADZI_CACHE_BYTES to the shared lists. */
void adzi_cache_limit(adzi_cache *cache);

/** The limit that adz_set_memory_limit set; 0 for no limit. */
size_t adzi_memory_limit(void);

/** Whether the limit leaves room for so many bytes. If so, the thread may allocate some more
 * without asking again (Note [What the limit counts]). */
bool adzi_has_room(adzi_cache *cache, size_t bytes);

/** Adds what a thread has counted for itself to the process's counts. */
void adzi_cache_flush(adzi_cache *cache);

/** Bytes that the library has from the system or the user's allocator: live and cached ones. */
size_t adzi_held_bytes(void);

/** Gives all blocks of an ending thread's cache to the shared lists. */
void adzi_cache_close(adzi_cache *cache);

/** Counts a tensor header that this thread has made (+1) or freed (-1). Other threads read the
 * count. */
static inline void adzi_count_tensor(adzi_cache *cache, int change)
{
    __atomic_store_n(&cache->live_tensors, cache->live_tensors + change, __ATOMIC_RELAXED);
}

#endif
