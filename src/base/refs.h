/* Counts of references, shared between threads.
 *
 * Note [One thread counts faster]
 * A locked instruction costs some twenty cycles, and the training step of a small network has
 * dozens. As long as the process has one thread the C library says so, and a count is then an
 * ordinary number: only that thread could start another one.
 */
#ifndef ADZI_BASE_REFS_H
#define ADZI_BASE_REFS_H

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ADZI_KNOWS_ALONE 1
#endif
#endif

/** Whether no other thread can exist now. */
static inline bool adzi_alone(void)
{
#ifdef ADZI_KNOWS_ALONE
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

/** Changes a count that no other thread can know of. */
static inline void adzi_refs_add_unshared(atomic_int *refs, int change)
{
    int count = atomic_load_explicit(refs, memory_order_relaxed);
    atomic_store_explicit(refs, count + change, memory_order_relaxed);
}

/** One reference more, for somebody who has one. */
static inline void adzi_refs_take(atomic_int *refs)
{
    if (adzi_alone()) {
        adzi_refs_add_unshared(refs, 1);
    } else {
        atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
    }
}

/** Whether there is one reference: its owner's, who needs no read-modify-write to end it, since
 * nobody else can take one now. */
static inline bool adzi_refs_are_one(atomic_int *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1;
}

/** One reference less, where there seemed to be others; whether it was the last. */
static inline bool adzi_refs_drop_shared(atomic_int *refs)
{
    if (adzi_alone()) {
        adzi_refs_add_unshared(refs, -1);
        return false;
    }
    return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/** One reference less; whether it was the last. */
static inline bool adzi_refs_drop(atomic_int *refs)
{
    return adzi_refs_are_one(refs) || adzi_refs_drop_shared(refs);
}

#endif
