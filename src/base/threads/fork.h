/* Locks that a child of fork finds free, and what they guard whole.
 *
 * A child has only the thread that called fork. A lock that another thread held at that moment
 * would stay locked in the child forever. fork therefore waits until it has all of them, as the
 * allocator of the C library does, and both processes free them afterwards.
 */
#ifndef ADZI_BASE_FORK_H
#define ADZI_BASE_FORK_H

#include <pthread.h>

/** The locks of the library in the order in which fork takes them. A thread that has one of them
 * may take only those below it; otherwise fork and that thread could wait for each other. */
typedef enum {
    ADZI_LOCK_PARAMETRIZED, /* its owner allocates and frees */
    ADZI_LOCK_DEBUG,        /* its owner allocates */
    ADZI_LOCK_OBSERVERS,
    ADZI_LOCK_SAVED,
    ADZI_LOCK_WATCHED,
    ADZI_LOCK_HANDLES,
    ADZI_LOCK_BLAS,
    ADZI_LOCK_BLOCKS,
    ADZI_LOCK_THREADS,
    ADZI_LOCK_PRINTED,
    ADZI_LOCKS
} adzi_lock_order;

/** Makes fork take a lock of this file as the order says. It stands once in a file. */
#define ADZI_FORK_TAKES(lock, order)                                      \
    __attribute__((constructor)) static void keep_lock_across_forks(void) \
    {                                                                     \
        adzi_fork_takes(&(lock), order);                                  \
    }

void adzi_fork_takes(pthread_mutex_t *lock, adzi_lock_order order);

#endif
