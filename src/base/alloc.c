/* Blocks of memory: adzi_alloc and adzi_free, which take the fast path through the thread's free
 * lists. Note [Where memory comes from] in blocks.c describes the levels below. */
#include "base/alloc.h"

#include "base/capture.h"
#include "base/system_memory.h"
#include "base/threads/thread.h"

_Atomic(adzi_watcher) adzi_free_watcher;

/* ---- the thread's free lists ---------------------------------------------------------------- */

/* Takes a block from the thread's list. The block after it is fetched into the processor's cache,
 * because it is likely to be taken next. */
static void *small_take(adzi_cache *cache, uint32_t cls)
{
    if (cache->free[cls] == NULL && !adzi_cache_refill(cache, cls)) {
        return NULL;
    }
    adzi_block *block = cache->free[cls];
    ADZI_UNPOISON(block, adzi_class_bytes(cls));
    adzi_block *next = block->next;
    cache->free[cls] = next;
    __builtin_prefetch(next != NULL ? next : block, 1); /* NULL would cost a page walk */
    --cache->count[cls];
    return block;
}

/* Puts a freed block on the thread's list. A list that has become long enough for a chain is put
 * aside. */
static void small_return(adzi_cache *cache, void *gone, uint32_t cls)
{
    adzi_block *block = gone;
    block->next = cache->free[cls];
    cache->free[cls] = block;
    ADZI_POISON(block, adzi_class_bytes(cls));
    if (adzi_is_chain(++cache->count[cls], cls)) {
        adzi_cache_put_aside(cache, cls);
    }
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Counts down to the request that a test wants to fail (adzi_alloc_fail_at). */
static bool must_fail(adzi_cache *cache)
{
    if (cache->fail_in > 0 && !cache->granted && --cache->fail_in == 0) {
        cache->failed = true;
        return true;
    }
    return false;
}

/* Whether the free lists serve blocks of this size, which is 1 or more. */
static bool is_small(size_t bytes)
{
    return bytes <= (size_t)ADZI_SMALL_CLASSES * ADZI_SMALL_STEP;
}

static uint32_t small_class(size_t bytes)
{
    return (uint32_t)((bytes + ADZI_SMALL_STEP - 1) / ADZI_SMALL_STEP);
}

/* Whether the thread may allocate so many bytes without looking at the memory limit. A request for
 * a large block always looks at it. */
static bool is_ahead(const adzi_cache *cache, size_t bytes)
{
    return is_small(bytes) &&
           cache->live_bytes + (int64_t)bytes <= __atomic_load_n(&cache->ahead, __ATOMIC_RELAXED);
}

/* Changes the thread's count of live bytes. Returns true if the count had become so large that it
 * was added to the process's count. */
static bool count_bytes(adzi_cache *cache, int64_t change)
{
    const int64_t now = cache->live_bytes + change;
    __atomic_store_n(&cache->live_bytes, now, __ATOMIC_RELAXED); /* other threads read it */
    if (now <= ADZI_FLUSH_BYTES && now >= -ADZI_FLUSH_BYTES) {
        return false;
    }
    adzi_cache_flush(cache);
    return true;
}

void adzi_leave_memory(const void *block, size_t bytes)
{
    adzi_watcher watcher = atomic_load_explicit(&adzi_free_watcher, memory_order_acquire);
    if (watcher != NULL) {
        watcher(block, bytes);
    }
}

/* Tells the watcher of all threads that a block is freed, and the capture of this thread. */
static void tell_freed(void *block, size_t bytes)
{
    adzi_leave_memory(block, bytes);
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->freed(capture, block, bytes);
    }
}

void *adzi_alloc(size_t bytes)
{
    adzi_cache *cache = &adzi_self()->cache;
    __atomic_store_n(&cache->requests, cache->requests + 1, __ATOMIC_RELAXED);
    if (must_fail(cache) || (!is_ahead(cache, bytes) && !adzi_has_room(cache, bytes))) {
        return NULL;
    }
    const size_t least = bytes > 0 ? bytes : 1;
    void *block = adzi_plain_memory ? adzi_plain_take(least)
                  : is_small(least) ? small_take(cache, small_class(least))
                                    : adzi_large_take(least);
    if (block != NULL) {
        count_bytes(cache, (int64_t)bytes);
        adzi_capture *capture = adzi_capture_of(adzi_self());
        if (capture != NULL) {
            capture->allocated(capture, block, bytes);
        }
    }
    return block;
}

void adzi_free(void *block, size_t bytes)
{
    if (block == NULL) {
        return;
    }
    tell_freed(block, bytes);
    adzi_cache *cache = &adzi_self()->cache;
    const size_t least = bytes > 0 ? bytes : 1;
    if (adzi_plain_memory) {
        adzi_plain_return(block, least);
    } else if (is_small(least)) {
        small_return(cache, block, small_class(least));
    } else {
        adzi_large_return(block, least);
    }
    if (count_bytes(cache, -(int64_t)bytes)) {
        adzi_cache_limit(cache);
    }
}

void adzi_alloc_fail_at(int64_t n)
{
    adzi_cache *cache = &adzi_self()->cache;
    cache->fail_in = n;
    cache->failed = false;
}

bool adzi_alloc_failed(void)
{
    return adzi_self()->cache.failed;
}

uint64_t adzi_alloc_requests(void)
{
    return adzi_self()->cache.requests;
}
