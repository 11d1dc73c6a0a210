/* Reference counts of objects that several threads may share.
 *
 * Note [One thread counts faster]
 * An atomic read-modify-write takes about twenty cycles, and a training step has dozens of them.
 * glibc tells whether the process has a single thread (sys/single_threaded.h). If it has, a count
 * is changed by a load and a store. No second thread can appear in between, because only this
 * thread could start it.
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

/** Whether the process has a single thread. False where the C library cannot tell. */
static inline bool adzi_alone(void)
{
#ifdef ADZI_KNOWS_ALONE
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

/** Changes a count that no other thread can reach. */
static inline void adzi_refs_add_unshared(atomic_int *refs, int change)
{
    int count = atomic_load_explicit(refs, memory_order_relaxed);
    atomic_store_explicit(refs, count + change, memory_order_relaxed);
}

/** Takes one more reference. The caller owns or borrows one already. */
static inline void adzi_refs_take(atomic_int *refs)
{
    if (adzi_alone()) {
        adzi_refs_add_unshared(refs, 1);
    } else {
        atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
    }
}

/**
 * Releases a reference and returns true if it was the last one. If the count is one, it belongs to
 * the caller and no other thread can take a reference. No atomic read-modify-write is needed then,
 * and the count keeps its value of one.
 */
static inline bool adzi_refs_drop(atomic_int *refs)
{
    if (atomic_load_explicit(refs, memory_order_acquire) == 1) {
        return true;
    }
    if (adzi_alone()) {
        adzi_refs_add_unshared(refs, -1);
        return false;
    }
    return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

#endif
