#include "tensor/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "adze/base.h"
#include "tensor/error.h"
#include "tensor/system_memory.h"
#include "tensor/thread.h"

/* Note [Where memory comes from]
 *
 * Blocks of up to 9 kB are cut from 64 kB slabs and live on free lists, one per multiple of 64
 * bytes: the thread's, of which a long one is put aside as a chain, then a second time goes to the
 * shared list of chains (a thread that only frees would otherwise hoard what another allocates).
 * Chains change hands whole, without a look at their blocks. Larger blocks come from the hook one
 * by one, rounded up to a sixteenth of a power of two, and return to a shared list of their size. A
 * slab starts on a multiple of its size, so that adz_empty_cache can find the slab of each free
 * block and give back those whose blocks are all free. Counters are per thread and flushed in
 * steps: the hot path touches no line that another thread writes.
 */

enum { STEP = ADZI_SMALL_STEP, SLAB_SIZE = 65536, LARGE_BUCKETS = 16 * 48 };

typedef struct slab {
    struct slab *next;
    uint32_t cls;
    uint32_t free; /* scratch of adz_empty_cache */
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
    size_t held; /* bytes obtained from the hook */
    size_t limit;
    bool custom;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_llong total_live, total_peak, total_tensors;

/* ---- the hook, under the lock -----------------------------------------------------------------
 */

static void release_unused(void);

static void *hook_take(size_t bytes, size_t alignment)
{
    if (pool.limit != 0 && pool.held + bytes > pool.limit) {
        release_unused();
        if (pool.held + bytes > pool.limit) {
            return NULL;
        }
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

static void *large_take(size_t bytes)
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

static void large_return(void *gone, size_t bytes)
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

static size_t class_bytes(uint32_t cls)
{
    return (size_t)cls * STEP;
}

/* Writes down how long a list is in its first block. */
static chain *chain_of(adzi_block *list, uint32_t count, uint32_t cls)
{
    chain *c = (chain *)(void *)list;
    ADZI_UNPOISON(c, sizeof *c);
    c->count = count;
    ADZI_POISON(c, class_bytes(cls));
    return c;
}

/* Puts a chain on the shared list; with the lock held. */
static void chain_share(adzi_block *list, uint32_t count, uint32_t cls)
{
    chain *c = chain_of(list, count, cls);
    ADZI_UNPOISON(c, sizeof *c);
    c->rest = pool.small[cls];
    ADZI_POISON(c, class_bytes(cls));
    pool.small[cls] = c;
}

/* Makes a chain the thread's list. */
static void chain_open(adzi_cache *cache, adzi_block *list, uint32_t cls)
{
    chain *c = (chain *)(void *)list;
    ADZI_UNPOISON(c, sizeof *c);
    cache->free[cls] = list;
    cache->count[cls] = c->count;
    ADZI_POISON(c, class_bytes(cls));
}

/* Takes a chain of a class from the shared list, or starts a slab. */
static bool small_refill(adzi_cache *cache, uint32_t cls)
{
    pthread_mutex_lock(&pool.lock);
    chain *c = pool.small[cls];
    slab *s = NULL;
    if (c != NULL) {
        ADZI_UNPOISON(c, sizeof *c);
        pool.small[cls] = c->rest;
        chain_open(cache, &c->first, cls);
    } else {
        s = hook_take(SLAB_SIZE, SLAB_SIZE);
    }
    if (s != NULL) {
        s->next = pool.slabs;
        s->cls = cls;
        pool.slabs = s;
        cache->fresh[cls] = (char *)s + STEP;
        cache->fresh_left[cls] = (uint32_t)((SLAB_SIZE - STEP) / class_bytes(cls));
    }
    pthread_mutex_unlock(&pool.lock);
    return c != NULL || s != NULL;
}

/* A block that the thread's list does not hold: from the chain put aside, from the slab that is
 * being cut up, or after a refill. */
static void *small_take(adzi_cache *cache, uint32_t cls)
{
    while (cache->free[cls] == NULL) {
        if (cache->full[cls] != NULL) {
            chain_open(cache, cache->full[cls], cls);
            cache->full[cls] = NULL;
        } else if (cache->fresh_left[cls] > 0) {
            char *fresh = cache->fresh[cls];
            --cache->fresh_left[cls];
            cache->fresh[cls] += class_bytes(cls);
            return fresh;
        } else if (!small_refill(cache, cls)) {
            return NULL;
        }
    }
    return adzi_small_pop(cache, cls);
}

/* The thread's list is a chain now: puts it aside, and what lay there on the shared list. */
static void cache_full(adzi_cache *cache, uint32_t cls)
{
    if (cache->full[cls] != NULL) {
        pthread_mutex_lock(&pool.lock);
        chain *c = (chain *)(void *)cache->full[cls];
        ADZI_UNPOISON(c, sizeof *c);
        chain_share(&c->first, c->count, cls);
        pthread_mutex_unlock(&pool.lock);
    }
    cache->full[cls] = &chain_of(cache->free[cls], cache->count[cls], cls)->first;
    cache->free[cls] = NULL;
    cache->count[cls] = 0;
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

/* With the lock held: empties the shared list of a class, block by block. */
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

/* Blocks that stay, strung together again. */
typedef struct strung {
    adzi_block *list;
    uint32_t count, cls;
} strung;

static void keep_block(adzi_block *block, strung *s)
{
    block->next = s->list;
    ADZI_POISON(block, class_bytes(s->cls));
    s->list = block;
    ++s->count;
}

static void count_free(adzi_block *block, void *user)
{
    ++slab_of(block)->free;
    keep_block(block, user);
}

static bool slab_is_free(const slab *s)
{
    return s->free == (SLAB_SIZE - STEP) / class_bytes(s->cls);
}

static void keep_unless_free(adzi_block *block, void *user)
{
    if (!slab_is_free(slab_of(block))) {
        keep_block(block, user);
    }
}

/* With the lock held: large blocks, and slabs all of whose blocks are on the shared lists. */
static void release_unused(void)
{
    static void (*const passes[])(
        adzi_block * block, void *user) = { count_free, keep_unless_free };
    release_large();
    for (slab *s = pool.slabs; s != NULL; s = s->next) {
        s->free = 0;
    }
    for (uint32_t cls = 1; cls <= ADZI_SMALL_CLASSES; ++cls) {
        for (int pass = 0; pass < 2; ++pass) {
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
        strung all = { cache->free[cls], cache->count[cls], cls };
        for (; cache->fresh_left[cls] > 0; --cache->fresh_left[cls]) {
            keep_block((adzi_block *)(void *)cache->fresh[cls], &all);
            cache->fresh[cls] += class_bytes(cls);
        }
        if (all.list != NULL) {
            chain_share(all.list, all.count, cls);
        }
        if (cache->full[cls] != NULL) {
            chain *c = (chain *)(void *)cache->full[cls];
            ADZI_UNPOISON(c, sizeof *c);
            chain_share(&c->first, c->count, cls);
        }
        cache->free[cls] = cache->full[cls] = NULL;
        cache->count[cls] = 0;
    }
    pthread_mutex_unlock(&pool.lock);
}

static void cache_flush(adzi_cache *cache)
{
    long long live = atomic_fetch_add(&total_live, cache->live_bytes) + cache->live_bytes;
    atomic_fetch_add(&total_tensors, cache->live_tensors);
    __atomic_store_n(&cache->live_bytes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cache->live_tensors, 0, __ATOMIC_RELAXED);
    long long peak = atomic_load(&total_peak);
    while (live > peak && !atomic_compare_exchange_weak(&total_peak, &peak, live)) {
    }
}

void adzi_cache_close(adzi_cache *cache)
{
    cache_empty(cache);
    cache_flush(cache);
}

/* ---- the calls ---------------------------------------------------------------------------------
 */

static bool must_fail(adzi_cache *cache)
{
    if (cache->fail_in > 0 && --cache->fail_in == 0) {
        cache->failed = true;
        return true;
    }
    return false;
}

static void count_bytes(adzi_cache *cache, int64_t change)
{
    int64_t now = cache->live_bytes + change;
    __atomic_store_n(&cache->live_bytes, now, __ATOMIC_RELAXED); /* other threads add it up */
    if (now > ADZI_FLUSH_BYTES || now < -ADZI_FLUSH_BYTES) {
        cache_flush(cache);
    }
}

void *adzi_alloc_slow(adzi_cache *cache, size_t bytes)
{
    __atomic_store_n(&cache->requests, cache->requests + 1, __ATOMIC_RELAXED);
    if (cache->fail_in != 0 && must_fail(cache)) {
        return NULL;
    }
    size_t least = bytes > 0 ? bytes : 1;
    void *block =
        adzi_is_small_block(least) ? small_take(cache, adzi_small_class(least)) : large_take(least);
    if (block != NULL) {
        count_bytes(cache, (int64_t)bytes);
    }
    return block;
}

void adzi_free_slow(adzi_cache *cache, void *block, size_t bytes)
{
    size_t least = bytes > 0 ? bytes : 1;
    if (!adzi_is_small_block(least)) {
        large_return(block, least);
    } else {
        const uint32_t cls = adzi_small_class(least);
        if (adzi_is_chain(adzi_small_push(cache, block, cls), cls)) {
            cache_full(cache, cls);
        }
    }
    count_bytes(cache, -(int64_t)bytes);
}

void *adzi_alloc(size_t bytes)
{
    return adzi_alloc_in(&adzi_self()->cache, bytes);
}

void adzi_free(void *block, size_t bytes)
{
    if (block != NULL) {
        adzi_free_in(&adzi_self()->cache, block, bytes);
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

/* ---- counters ----------------------------------------------------------------------------------
 */

typedef struct {
    int64_t bytes, tensors;
    uint64_t requests;
} unflushed;

static void add_unflushed(adzi_thread *thread, void *user)
{
    unflushed *sum = user;
    sum->bytes += __atomic_load_n(&thread->cache.live_bytes, __ATOMIC_RELAXED);
    sum->tensors += __atomic_load_n(&thread->cache.live_tensors, __ATOMIC_RELAXED);
    sum->requests += __atomic_load_n(&thread->cache.requests, __ATOMIC_RELAXED);
}

int64_t adzi_live_bytes(void)
{
    unflushed sum = { 0, 0, 0 };
    adzi_threads_each(add_unflushed, &sum);
    return atomic_load(&total_live) + sum.bytes;
}

int64_t adzi_live_tensors(void)
{
    unflushed sum = { 0, 0, 0 };
    adzi_threads_each(add_unflushed, &sum);
    return atomic_load(&total_tensors) + sum.tensors;
}

void adz_memory_info_get(adz_memory_info *info, size_t size)
{
    if (info == NULL) {
        adzi_error_null("memory_info_get", "info");
        return;
    }
    cache_flush(&adzi_self()->cache);
    unflushed sum = { 0, 0, 0 };
    adzi_threads_each(add_unflushed, &sum);
    long long live = atomic_load(&total_live) + sum.bytes;
    long long peak = atomic_load(&total_peak);
    adz_memory_info all = { 0 };
    all.live_bytes = live > 0 ? (size_t)live : 0;
    all.peak_bytes = peak > live ? (size_t)peak : all.live_bytes;
    pthread_mutex_lock(&pool.lock);
    all.cached_bytes = pool.held > all.live_bytes ? pool.held - all.live_bytes : 0;
    pthread_mutex_unlock(&pool.lock);
    all.live_tensors = (size_t)adzi_live_tensors();
    all.requests = sum.requests;
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
}

void adz_memory_reset_peak(void)
{
    cache_flush(&adzi_self()->cache);
    atomic_store(&total_peak, atomic_load(&total_live));
}

void adz_empty_cache(void)
{
    cache_empty(&adzi_self()->cache);
    pthread_mutex_lock(&pool.lock);
    release_unused();
    pthread_mutex_unlock(&pool.lock);
}

void adz_set_memory_limit(size_t bytes)
{
    pthread_mutex_lock(&pool.lock);
    pool.limit = bytes;
    pthread_mutex_unlock(&pool.lock);
}

size_t adzi_memory_limit(void)
{
    pthread_mutex_lock(&pool.lock);
    size_t limit = pool.limit;
    pthread_mutex_unlock(&pool.lock);
    return limit;
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
