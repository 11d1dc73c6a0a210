/* Blocks that threads share: large ones, chains of small ones, and the slabs that they are cut
 * from. */
#include "base/alloc.h"

#include <pthread.h>

#include "adze/base.h"
#include "base/error.h"
#include "base/system_memory.h"
#include "base/thread.h"

/* Note [Where memory comes from]
 *
 * Each thread has free lists for blocks of up to 9 kB, one per multiple of 64 bytes. A list that
 * becomes long is put aside as a chain. When a second list of that size becomes long, the first
 * chain goes to the shared lists; otherwise a thread that only frees would keep what another
 * allocates. Chains change hands whole, without a visit to their blocks.
 *
 * Small blocks are cut from slabs of 64 kB in spans. The first span that a thread takes for a size
 * has 4 kB, the next one 8 kB, and so on: a small model holds little memory, and a large one asks
 * seldom. A slab starts on a multiple of its size, so that the slab of a block can be computed from
 * its address. A slab whose blocks are all free goes back to the hook.
 *
 * Larger blocks come from the hook one by one, rounded up to a sixteenth of a power of two, and
 * return to a shared list of their size. Counters belong to threads and are added up in steps, so
 * that the usual request touches no cache line that another thread writes.
 *
 * A thread keeps 256 kB of small blocks. The bound is checked when the thread has freed 64 kB more
 * than it allocated, and when one of its lists is empty or long. Blocks beyond the bound go to the
 * shared lists.
 */

enum { STEP = ADZI_SMALL_STEP, SLAB_SIZE = 65536, FIRST_SPAN = 4096, LARGE_BUCKETS = 16 * 48 };

typedef struct slab {
    struct slab *next;
    uint32_t used; /* bytes cut into spans, this header included */
    uint32_t free; /* scratch of release_unused: bytes of it on the shared lists */
} slab;

/* The first block of a chain that is not the thread's list. */
typedef struct chain {
    adzi_block first;
    struct chain *rest; /* of the shared list */
    uint32_t count;     /* blocks */
} chain;

static struct {
    pthread_mutex_t lock;
    adz_allocator hook;
    chain *small[ADZI_SMALL_CLASSES + 1];
    adzi_block *large[LARGE_BUCKETS];
    slab *slabs;
    slab *open;  /* the one that spans are cut from, or NULL */
    size_t held; /* bytes obtained from the hook */
    bool custom;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the hook, under the lock -----------------------------------------------------------------
 */

static void release_unused(void);

static void *hook_take(size_t bytes, size_t alignment)
{
    const size_t limit = adzi_memory_limit();
    if (limit != 0 && pool.held + bytes > limit) {
        release_unused();
    }
    void *block = pool.custom ? pool.hook.allocate(bytes, alignment, pool.hook.user)
                              : adzi_system_allocate(bytes, alignment);
    if (block == NULL) {
        release_unused();
        block = pool.custom ? pool.hook.allocate(bytes, alignment, pool.hook.user)
                            : adzi_system_allocate(bytes, alignment);
    }
    if (block != NULL) {
        pool.held += bytes;
    }
    return block;
}

static void hook_return(void *block, size_t bytes)
{
    pool.held -= bytes;
    if (pool.custom) {
        pool.hook.deallocate(block, bytes, pool.hook.user);
    } else {
        adzi_system_deallocate(block, bytes);
    }
}

/* ---- large blocks ------------------------------------------------------------------------------
 */

static int large_bucket(size_t bytes, size_t *rounded)
{
    int log2 = 63 - __builtin_clzll((unsigned long long)bytes);
    size_t step = (size_t)1 << (log2 - 4);
    size_t up = (bytes + step - 1) & ~(step - 1);
    if (up == (size_t)2 << log2) {
        ++log2;
        step = (size_t)1 << (log2 - 4);
    }
    *rounded = up;
    return log2 * 16 + (int)((up - ((size_t)1 << log2)) / step);
}

void *adzi_large_take(size_t bytes)
{
    if (bytes > (size_t)1 << 46) {
        return NULL;
    }
    size_t rounded;
    int bucket = large_bucket(bytes, &rounded);
    pthread_mutex_lock(&pool.lock);
    adzi_block *block = pool.large[bucket];
    if (block != NULL) {
        ADZI_UNPOISON(block, rounded);
        pool.large[bucket] = block->next;
    } else {
        block = hook_take(rounded, STEP);
    }
    pthread_mutex_unlock(&pool.lock);
    return block;
}

void adzi_large_return(void *gone, size_t bytes)
{
    size_t rounded;
    int bucket = large_bucket(bytes, &rounded);
    adzi_block *block = gone;
    pthread_mutex_lock(&pool.lock);
    block->next = pool.large[bucket];
    pool.large[bucket] = block;
    ADZI_POISON(block, rounded);
    pthread_mutex_unlock(&pool.lock);
}

/* ---- small blocks ------------------------------------------------------------------------------
 */

/* Puts a list on the shared list as a chain, with its length; with the lock held. */
static void chain_share(adzi_block *list, uint32_t count, uint32_t cls)
{
    chain *c = (chain *)(void *)list;
    ADZI_UNPOISON(c, sizeof *c);
    c->count = count;
    c->rest = pool.small[cls];
    ADZI_POISON(c, adzi_class_bytes(cls));
    pool.small[cls] = c;
}

/* A list of blocks that is being built. */
typedef struct strung {
    adzi_block *list;
    uint32_t count, cls;
} strung;

/* Adds a block to the list, which goes to the shared list when it is a chain; with the lock held.
 */
static void keep_block(adzi_block *block, strung *s)
{
    block->next = s->list;
    ADZI_POISON(block, adzi_class_bytes(s->cls));
    s->list = block;
    if (adzi_is_chain(++s->count, s->cls)) {
        chain_share(s->list, s->count, s->cls);
        s->list = NULL;
        s->count = 0;
    }
}

/* The bytes of all blocks in the cache. */
static size_t cached_in(const adzi_cache *cache)
{
    size_t bytes = 0;
    for (uint32_t cls = 1; cls <= ADZI_SMALL_CLASSES; ++cls) {
        uint32_t blocks = cache->count[cls] + cache->full_count[cls] + cache->fresh_left[cls];
        bytes += blocks * adzi_class_bytes(cls);
    }
    return bytes;
}

/* Gives all blocks that the thread has of a class to the shared list; with the lock held. */
static void share_class(adzi_cache *cache, uint32_t cls)
{
    strung all = { cache->free[cls], cache->count[cls], cls };
    for (; cache->fresh_left[cls] > 0; --cache->fresh_left[cls]) {
        keep_block((adzi_block *)(void *)cache->fresh[cls], &all);
        cache->fresh[cls] += adzi_class_bytes(cls);
    }
    if (all.list != NULL) {
        chain_share(all.list, all.count, cls);
    }
    if (cache->full[cls] != NULL) {
        chain_share(cache->full[cls], cache->full_count[cls], cls);
    }
    cache->free[cls] = cache->full[cls] = NULL;
    cache->count[cls] = cache->full_count[cls] = 0;
}

/* Keeps a cache within its bound, but for class `except`; with the lock held. Classes of large
 * blocks go first. Half of the bound is left, so that the next trim is far away. */
static void cache_trim(adzi_cache *cache, uint32_t except)
{
    size_t bytes = cached_in(cache);
    if (bytes <= ADZI_CACHE_BYTES) {
        return;
    }
    for (uint32_t cls = ADZI_SMALL_CLASSES; cls > 0 && bytes > ADZI_CACHE_BYTES / 2; --cls) {
        uint32_t blocks = cache->count[cls] + cache->full_count[cls] + cache->fresh_left[cls];
        if (cls != except && blocks > 0) {
            share_class(cache, cls);
            bytes -= blocks * adzi_class_bytes(cls);
        }
    }
}

/* A slab with room for a block; with the lock held. NULL if memory was refused. */
static slab *slab_with_room(size_t block)
{
    slab *s = pool.open;
    if (s != NULL && SLAB_SIZE - s->used >= block) {
        return s;
    }
    s = hook_take(SLAB_SIZE, SLAB_SIZE);
    if (s != NULL) {
        s->next = pool.slabs;
        s->used = STEP;
        pool.slabs = s;
    }
    return s;
}

/* Cuts a span for a class; with the lock held. A cache that is half full gets the smallest span. */
static bool cut_span(adzi_cache *cache, uint32_t cls)
{
    const size_t block = adzi_class_bytes(cls);
    slab *s = slab_with_room(block);
    if (s == NULL) {
        return false;
    }
    size_t span = (size_t)FIRST_SPAN << cache->spans[cls], room = SLAB_SIZE - s->used;
    if (span >= SLAB_SIZE || cached_in(cache) > ADZI_CACHE_BYTES / 2) {
        span = span >= SLAB_SIZE ? SLAB_SIZE : FIRST_SPAN;
    } else {
        ++cache->spans[cls];
    }
    span = span < room ? span : room;
    const uint32_t blocks = span > block ? (uint32_t)(span / block) : 1;
    cache->fresh[cls] = (char *)s + s->used;
    cache->fresh_left[cls] = blocks;
    s->used += (uint32_t)(blocks * block);
    if (pool.open == NULL || s->used < pool.open->used) {
        pool.open = s;
    }
    return true;
}

/* Takes a chain of a class from the shared list, or a span of a slab. */
static bool refill_from_shared(adzi_cache *cache, uint32_t cls)
{
    pthread_mutex_lock(&pool.lock);
    chain *c = pool.small[cls];
    bool filled = true;
    if (c != NULL) {
        ADZI_UNPOISON(c, sizeof *c);
        pool.small[cls] = c->rest;
        cache->free[cls] = &c->first;
        cache->count[cls] = c->count;
        ADZI_POISON(c, adzi_class_bytes(cls));
    } else {
        filled = cut_span(cache, cls);
    }
    cache_trim(cache, cls);
    pthread_mutex_unlock(&pool.lock);
    return filled;
}

bool adzi_cache_refill(adzi_cache *cache, uint32_t cls)
{
    while (cache->free[cls] == NULL) {
        if (cache->full[cls] != NULL) {
            cache->free[cls] = cache->full[cls];
            cache->count[cls] = cache->full_count[cls];
            cache->full[cls] = NULL;
            cache->full_count[cls] = 0;
        } else if (cache->fresh_left[cls] > 0) {
            adzi_block *fresh = (adzi_block *)(void *)cache->fresh[cls];
            --cache->fresh_left[cls];
            cache->fresh[cls] += adzi_class_bytes(cls);
            fresh->next = NULL;
            cache->free[cls] = fresh;
            cache->count[cls] = 1;
        } else if (!refill_from_shared(cache, cls)) {
            return false;
        }
    }
    return true;
}

/* Puts the thread's list aside as a chain. A chain that was there already goes to the shared list.
 */
void adzi_cache_put_aside(adzi_cache *cache, uint32_t cls)
{
    if (cache->full[cls] != NULL) {
        pthread_mutex_lock(&pool.lock);
        chain_share(cache->full[cls], cache->full_count[cls], cls);
        pthread_mutex_unlock(&pool.lock);
    }
    cache->full[cls] = cache->free[cls];
    cache->full_count[cls] = cache->count[cls];
    cache->free[cls] = NULL;
    cache->count[cls] = 0;
}

void adzi_cache_limit(adzi_cache *cache)
{
    if (cached_in(cache) > ADZI_CACHE_BYTES) {
        pthread_mutex_lock(&pool.lock);
        cache_trim(cache, 0);
        pthread_mutex_unlock(&pool.lock);
    }
}

/* ---- giving back -------------------------------------------------------------------------------
 */

static slab *slab_of(void *block)
{
    return (slab *)((uintptr_t)block & ~(uintptr_t)(SLAB_SIZE - 1));
}

static void release_large(void)
{
    for (int i = 0; i < LARGE_BUCKETS; ++i) {
        while (pool.large[i] != NULL) {
            adzi_block *block = pool.large[i];
            size_t bytes = ((size_t)1 << (i / 16)) + (size_t)(i % 16) * ((size_t)1 << (i / 16 - 4));
            ADZI_UNPOISON(block, bytes);
            pool.large[i] = block->next;
            hook_return(block, bytes);
        }
    }
}

/* Empties the shared list of a class, block by block; with the lock held. */
static void take_apart(uint32_t cls, void (*visit)(adzi_block *block, void *user), void *user)
{
    chain *c = pool.small[cls];
    pool.small[cls] = NULL;
    while (c != NULL) {
        ADZI_UNPOISON(c, sizeof *c);
        chain *rest = c->rest;
        for (adzi_block *block = &c->first; block != NULL;) {
            ADZI_UNPOISON(block, sizeof *block);
            adzi_block *next = block->next;
            visit(block, user);
            block = next;
        }
        c = rest;
    }
}

static void count_free(adzi_block *block, void *user)
{
    strung *kept = user;
    slab_of(block)->free += (uint32_t)adzi_class_bytes(kept->cls);
    keep_block(block, kept);
}

static bool slab_is_free(const slab *s)
{
    return s->free == s->used - STEP;
}

static void keep_unless_free(adzi_block *block, void *user)
{
    if (!slab_is_free(slab_of(block))) {
        keep_block(block, user);
    }
}

/* Gives free memory back to the hook: all large blocks, and slabs whose blocks are all on the
 * shared lists; with the lock held. */
static void release_unused(void)
{
    static void (*const passes[])(
        adzi_block * block, void *user) = { count_free, keep_unless_free };
    release_large();
    for (slab *s = pool.slabs; s != NULL; s = s->next) {
        s->free = 0;
    }
    for (int pass = 0; pass < 2; ++pass) { /* a slab has blocks of several classes */
        for (uint32_t cls = 1; cls <= ADZI_SMALL_CLASSES; ++cls) {
            strung kept = { NULL, 0, cls };
            take_apart(cls, passes[pass], &kept);
            if (kept.list != NULL) {
                chain_share(kept.list, kept.count, cls);
            }
        }
    }
    for (slab **link = &pool.slabs; *link != NULL;) {
        slab *s = *link;
        if (slab_is_free(s)) {
            *link = s->next;
            pool.open = pool.open != s ? pool.open : NULL;
            ADZI_UNPOISON(s, SLAB_SIZE);
            hook_return(s, SLAB_SIZE);
        } else {
            link = &s->next;
        }
    }
}

static void cache_empty(adzi_cache *cache)
{
    pthread_mutex_lock(&pool.lock);
    for (uint32_t cls = 1; cls <= ADZI_SMALL_CLASSES; ++cls) {
        share_class(cache, cls);
        cache->spans[cls] = 0;
    }
    pthread_mutex_unlock(&pool.lock);
}

void adzi_cache_close(adzi_cache *cache)
{
    cache_empty(cache);
    adzi_cache_flush(cache);
}

/* ---- the process's memory ------------------------------------------------------------------- */

size_t adzi_held_bytes(void)
{
    pthread_mutex_lock(&pool.lock);
    size_t held = pool.held;
    pthread_mutex_unlock(&pool.lock);
    return held;
}

void adz_empty_cache(void)
{
    cache_empty(&adzi_self()->cache);
    pthread_mutex_lock(&pool.lock);
    release_unused();
    pthread_mutex_unlock(&pool.lock);
}

adz_status adz_set_allocator(const adz_allocator *allocator)
{
    adzi_thread_trim(adzi_self());
    adz_empty_cache();
    pthread_mutex_lock(&pool.lock);
    size_t held = pool.held;
    if (held == 0) {
        pool.custom = allocator != NULL;
        if (allocator != NULL) {
            pool.hook = *allocator;
        }
    }
    pthread_mutex_unlock(&pool.lock);
    if (held != 0) {
        return adzi_error("adz_set_allocator", ADZ_ERR_STATE,
            "%zu bytes of the present allocator are still held, by tensors, models, generators "
            "or other threads; end them first, or set the allocator before anything is made",
            held);
    }
    return ADZ_OK;
}
