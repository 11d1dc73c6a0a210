/* Counts of bytes and tensors, and what the memory limit allows.
 *
 * Note [What the limit counts]
 *
 * The limit is on live bytes. Cached bytes do not count, because a thread cannot take memory from
 * the caches of other threads. Instead, the shared lists are emptied whenever live and cached bytes
 * together would pass the limit. Three things may still exceed it: the slabs in use, the rounding
 * of large blocks, and 256 kB of cache per thread.
 *
 * Only the slow path adds up the live bytes of all threads. It then allows the thread a sixteenth
 * of the bytes that are left below the limit, 64 kB at most. The thread allocates these without
 * looking at the limit.
 */
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/threads/thread.h"

enum { SHARE_OF_ROOM = 16 };

static atomic_llong total_live, total_peak, total_tensors;

/* ---- a thread's counts ----------------------------------------------------------------------- */

/* Sets the live bytes up to which the thread does not look at the limit. The thread itself calls
 * it, or a thread that changes the limit. */
static void set_ahead(adzi_cache *cache, int64_t ahead)
{
    __atomic_store_n(&cache->ahead, ahead, __ATOMIC_RELAXED);
}

void adzi_cache_flush(adzi_cache *cache)
{
    long long live = atomic_fetch_add(&total_live, cache->live_bytes) + cache->live_bytes;
    atomic_fetch_add(&total_tensors, cache->live_tensors);
    __atomic_store_n(&cache->live_bytes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cache->live_tensors, 0, __ATOMIC_RELAXED);
    set_ahead(cache, adzi_memory_limit() == 0 ? ADZI_FLUSH_BYTES : 0);
    long long peak = atomic_load(&total_peak);
    while (live > peak && !atomic_compare_exchange_weak(&total_peak, &peak, live)) {
    }
}

/* ---- the limit ------------------------------------------------------------------------------- */

bool adzi_has_room(adzi_cache *cache, size_t bytes)
{
    const size_t most = adzi_memory_limit();
    if (most == 0) {
        set_ahead(cache, ADZI_FLUSH_BYTES);
        return true;
    }
    if (cache->granted) {
        return true;
    }
    adzi_cache_flush(cache);
    const int64_t live = adzi_live_bytes();
    const size_t used = live > 0 ? (size_t)live : 0;
    if (bytes > most || used > most - bytes) {
        adzi_cache_empty(cache); /* a request is refused only when no memory is held in reserve */
        adzi_release_unused();
        return false;
    }
    const size_t room = (most - bytes - used) / SHARE_OF_ROOM;
    const size_t share = room < ADZI_FLUSH_BYTES ? room : ADZI_FLUSH_BYTES;
    set_ahead(cache, (int64_t)(bytes + share));
    return true;
}

/* Makes a thread look at the limit with its next request. */
static void ask_again(adzi_thread *thread, void *user)
{
    (void)user;
    set_ahead(&thread->cache, 0);
}

void adzi_limit_memory(size_t bytes)
{
    adzi_set_limit(bytes);
    adzi_threads_each(ask_again, NULL);
}

/* ---- sums over all threads ------------------------------------------------------------------- */

/* What the threads have counted and not yet added to the process's counts. */
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

/* The bytes held but not live. The two numbers are read at different times, so `live` may be the
 * larger one. */
static size_t beyond(size_t held, size_t live)
{
    return held > live ? held - live : 0;
}

adz_memory_info adzi_measure_memory(void)
{
    adzi_cache_flush(&adzi_self()->cache);
    unflushed sum = { 0, 0, 0 };
    adzi_threads_each(add_unflushed, &sum);
    long long live = atomic_load(&total_live) + sum.bytes;
    long long peak = atomic_load(&total_peak);
    adz_memory_info all = { 0 };
    all.live_bytes = live > 0 ? (size_t)live : 0;
    all.peak_bytes = peak > live ? (size_t)peak : all.live_bytes;
    all.cached_bytes = beyond(adzi_held_bytes(), all.live_bytes);
    all.live_tensors = (size_t)adzi_live_tensors();
    all.requests = sum.requests;
    return all;
}

void adzi_reset_peak(void)
{
    adzi_cache_flush(&adzi_self()->cache);
    atomic_store(&total_peak, atomic_load(&total_live));
}
