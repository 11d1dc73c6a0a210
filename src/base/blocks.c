/* Blocks that all threads share: large blocks, chains of small blocks, and the slabs from which
 * small blocks are cut. */
#include "base/alloc.h"

#include <pthread.h>

#include "base/system_memory.h"
#include "base/threads/fork.h"

/* Note [Where memory comes from]
 *
 * Each thread has free lists for blocks of up to 9 kB, one per multiple of 64 bytes. A list that
 * becomes long is put aside as a chain. When a second list of that size becomes long, the first
 * chain goes to the shared lists. Without this step, a thread that only frees would collect the
 * blocks that another thread allocates. A chain changes its owner as a whole: its blocks are not
 * visited.
 *
 * Small blocks are cut from slabs of 64 kB in spans. The first span that a thread takes for a size
 * has 4 kB, the second 8 kB, and so on. A small model holds little memory in this way, and a large
 * model rarely needs a new span. A slab starts at a multiple of its size, so that the slab of a
 * block can be computed from its address. A slab whose blocks are all free is given back.
 *
 * Larger blocks come from the allocator one by one, rounded up to sixteenths of a power of two.
 * They return to a shared list of their size. Each thread counts its own bytes and adds them to
 * the process's count in steps of 64 kB. So the usual request touches no cache line that another
 * thread writes.
 *
 * A thread keeps 256 kB of small blocks and gives the rest to the shared lists. It looks at the
 * bound when it has freed 64 kB more than it allocated, and when a list is empty or long. */

/* LARGE_BUCKETS: 16 sizes between two powers of two, for blocks of less than 2^48 bytes. */
enum { STEP = ADZI_SMALL_STEP, SLAB_SIZE = 65536, FIRST_SPAN = 4096, LARGE_BUCKETS = 16 * 48 };

/* The header of a slab. It takes the first 64 bytes. */
typedef struct slab {
    struct slab *next;
    uint32_t used; /* bytes cut into spans, this header included */
    uint32_t free; /* release_unused counts here the bytes that are on the shared lists */
} slab;

/* A chain on a shared list. This struct lies in the memory of the chain's first block. */
typedef struct chain {
    adzi_block first;
    struct chain *rest; /* the next chain of the shared list */
    uint32_t count;     /* blocks of this chain */
} chain;

/* The shared part of the allocator. */
static struct {
    pthread_mutex_t lock;    /* guards all of it */
    adz_allocator allocator; /* of the program; NULL: the system's memory */
    chain *small[ADZI_SMALL_CLASSES + 1];
    adzi_block *large[LARGE_BUCKETS];
    slab *slabs, *open; /* `open` is the slab that spans are cut from, or NULL */
    size_t held;        /* bytes obtained from the allocator */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
ADZI_FORK_TAKES(pool.lock, ADZI_LOCK_BLOCKS)

/* On live bytes; 0 for none. It is read without the lock. */
static atomic_size_t limit;

size_t adzi_memory_limit(void)
{
    return atomic_load_explicit(&limit, memory_order_relaxed);
}

void adzi_set_limit(size_t bytes)
{
    atomic_store(&limit, bytes);
}

/* ---- the allocator; the caller holds the lock ---------------------------------------------- */

static void release_unused(void);

/* Takes a block from the allocator. Unused memory is given back before the held bytes would pass
 * the limit, and once more if the allocator refuses the first time. */
static void *allocator_take(size_t bytes, size_t alignment)
{
    const size_t most = adzi_memory_limit();
    if (most != 0 && pool.held + bytes > most) {
        release_unused();
    }
    void *block = pool.allocator.allocate != NULL
                      ? pool.allocator.allocate(bytes, alignment, pool.allocator.user)
                      : adzi_system_allocate(bytes, alignment);
    if (block == NULL) {
        release_unused();
        block = pool.allocator.allocate != NULL
                    ? pool.allocator.allocate(bytes, alignment, pool.allocator.user)
                    : adzi_system_allocate(bytes, alignment);
    }
    if (block != NULL) {
        pool.held += bytes;
    }
    return block;
}

static void allocator_return(void *block, size_t bytes)
{
    pool.held -= bytes;
    if (pool.allocator.allocate != NULL) {
        pool.allocator.deallocate(block, bytes, pool.allocator.user);
    } else {
        adzi_system_deallocate(block, bytes);
    }
}

/* ---- large blocks -------------------------------------------------------------------------- */

/* The number of the shared list for a block of so many bytes. `rounded` receives the size of the
 * blocks on that list. The list 16 * k + j, j = 0 .. 15, has blocks of 2^k + j * 2^(k-4) bytes. */
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
        block = allocator_take(rounded, STEP);
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

void *adzi_plain_take(size_t bytes)
{
    pthread_mutex_lock(&pool.lock);
    void *block = allocator_take(bytes, STEP);
    pthread_mutex_unlock(&pool.lock);
    return block;
}

void adzi_plain_return(void *gone, size_t bytes)
{
    pthread_mutex_lock(&pool.lock);
    allocator_return(gone, bytes);
    pthread_mutex_unlock(&pool.lock);
}

/* ---- small blocks -------------------------------------------------------------------------- */

/* Puts a list of `count` blocks on the shared list as a chain. The caller holds the lock. */
static void chain_share(adzi_block *list, uint32_t count, uint32_t cls)
{
    chain *c = (chain *)(void *)list;
    ADZI_UNPOISON(c, sizeof *c);
    c->count = count;
    c->rest = pool.small[cls];
    ADZI_POISON(c, adzi_class_bytes(cls));
    pool.small[cls] = c;
}

/* A list of blocks of one size that is being built. */
typedef struct strung {
    adzi_block *list;
    uint32_t count, cls;
} strung;

/* Adds a block to the list. A list that is long enough for a chain goes to the shared list, and a
 * new one begins. The caller holds the lock. */
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

/* Gives all blocks that the thread has of a class to the shared list: its list, the rest of its
 * span and the chain put aside. The caller holds the lock. */
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

/* Brings a cache that holds more than its bound down to half of the bound, so that it does not
 * reach the bound again soon. Classes of large blocks are given away first; class `except` stays,
 * because it was just filled. The caller holds the lock. */
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

/* A slab with room for a block of so many bytes; NULL if memory was refused. The caller holds the
 * lock. */
static slab *slab_with_room(size_t block)
{
    slab *s = pool.open;
    if (s != NULL && SLAB_SIZE - s->used >= block) {
        return s;
    }
    s = allocator_take(SLAB_SIZE, SLAB_SIZE);
    if (s != NULL) {
        s->next = pool.slabs;
        s->used = STEP;
        pool.slabs = s;
    }
    return s;
}

/* Cuts a span of blocks of a class for the thread. A cache that is more than half full gets the
 * smallest span. The caller holds the lock. */
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

/* ---- giving back --------------------------------------------------------------------------- */

static slab *slab_of(void *block)
{
    return (slab *)((uintptr_t)block & ~(uintptr_t)(SLAB_SIZE - 1));
}

/* Gives all blocks of the shared lists of large blocks back to the allocator. The expression for
 * `bytes` is the inverse of large_bucket. The caller holds the lock. */
static void release_large(void)
{
    for (int i = 0; i < LARGE_BUCKETS; ++i) {
        while (pool.large[i] != NULL) {
            adzi_block *block = pool.large[i];
            size_t bytes = ((size_t)1 << (i / 16)) + (size_t)(i % 16) * ((size_t)1 << (i / 16 - 4));
            ADZI_UNPOISON(block, bytes);
            pool.large[i] = block->next;
            allocator_return(block, bytes);
        }
    }
}

/* Empties the shared list of a class and calls `visit` with each block; the caller holds the lock.
 */
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

/* First pass of release_unused: counts in each slab the bytes that are free. */
static void count_free(adzi_block *block, void *kept)
{
    slab_of(block)->free += (uint32_t)adzi_class_bytes(((strung *)kept)->cls);
    keep_block(block, kept);
}

/* Whether all blocks of a slab are free. `s->free` must have been counted. */
static bool slab_is_free(const slab *s)
{
    return s->free == s->used - STEP;
}

/* Second pass of release_unused: takes the blocks of free slabs off the shared lists. */
static void keep_unless_free(adzi_block *block, void *user)
{
    if (!slab_is_free(slab_of(block))) {
        keep_block(block, user);
    }
}

/* Gives free memory back to the allocator: all large blocks, and slabs whose blocks are all on the
 * shared lists. Two passes over all classes are needed, because a slab has blocks of several
 * classes. The caller holds the lock. */
static void release_unused(void)
{
    static void (*const passes[])(
        adzi_block * block, void *user) = { count_free, keep_unless_free };
    release_large();
    for (slab *s = pool.slabs; s != NULL; s = s->next) {
        s->free = 0;
    }
    for (int pass = 0; pass < 2; ++pass) {
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
            allocator_return(s, SLAB_SIZE);
        } else {
            link = &s->next;
        }
    }
}

/* ---- the process's memory ------------------------------------------------------------------- */

/* The next spans of the cache are small again. */
void adzi_cache_empty(adzi_cache *cache)
{
    pthread_mutex_lock(&pool.lock);
    for (uint32_t cls = 1; cls <= ADZI_SMALL_CLASSES; ++cls) {
        share_class(cache, cls);
        cache->spans[cls] = 0;
    }
    pthread_mutex_unlock(&pool.lock);
}

void adzi_release_unused(void)
{
    pthread_mutex_lock(&pool.lock);
    release_unused();
    pthread_mutex_unlock(&pool.lock);
}

size_t adzi_held_bytes(void)
{
    pthread_mutex_lock(&pool.lock);
    size_t held = pool.held;
    pthread_mutex_unlock(&pool.lock);
    return held;
}

bool adzi_get_allocator(adz_allocator *allocator)
{
    pthread_mutex_lock(&pool.lock);
    *allocator = pool.allocator;
    pthread_mutex_unlock(&pool.lock);
    return allocator->allocate != NULL;
}

size_t adzi_use_allocator(const adz_allocator *allocator)
{
    pthread_mutex_lock(&pool.lock);
    size_t held = pool.held;
    if (held == 0) {
        pool.allocator = allocator != NULL ? *allocator : (adz_allocator){ 0 };
    }
    pthread_mutex_unlock(&pool.lock);
    return held;
}
