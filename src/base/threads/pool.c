/* The library's own threads: one pool per process, which runs one launch at a time.
 *
 * Note [The ticket]
 * A launch is published as one 64-bit word, the ticket. It holds the number of the launch, the
 * number of its parts and the next part to be claimed. A thread claims a part by raising `next`
 * with a compare-and-swap. The swap fails if the ticket belongs to a newer launch, so a thread that
 * wakes up late cannot touch a finished launch. The launching thread claims parts as well, so that
 * no launch waits for a thread to wake up. The fields of a launch are read only after a claim,
 * because they are valid until all claimed parts are done.
 */
#include "base/threads/parallel.h"

#ifndef ADZI_OPENMP

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* The number of times that an idle thread looks for work before it sleeps, some 100 microseconds.
 * That is longer than the time between most launches of a training step. It is much shorter than
 * the time slice that the system would give to another process on this processor. */
enum { SPINS = 3000 };

static struct {
    _Alignas(64) atomic_uint_least64_t ticket; /* number << 32 | parts << 16 | next */
    _Alignas(64) atomic_int unfinished;        /* parts of this launch not yet computed */
    _Alignas(64) atomic_flag busy;             /* held by the launching thread */
    const adzi_cut *cut;
    pthread_mutex_t lock; /* guards going to sleep and waking up; parts are claimed without it */
    pthread_cond_t wake, done;
    bool stopping;
    atomic_int workers;  /* threads of the pool; changed by the thread that holds `busy` */
    atomic_int sleepers; /* threads that sleep or are about to; changed under `lock` */
    pid_t owner;         /* the process that started the threads */
    pthread_t threads[ADZI_MAX_THREADS];
} pool = { .busy = ATOMIC_FLAG_INIT,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER };

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint64_t number_of(uint64_t ticket)
{
    return ticket >> 32;
}

/* Claims and computes parts of launch `number` until none is left. */
static void work(uint64_t number)
{
    uint64_t ticket = atomic_load_explicit(&pool.ticket, memory_order_acquire);
    for (;;) {
        uint64_t parts = (ticket >> 16) & 0xffff, next = ticket & 0xffff;
        if (number_of(ticket) != number || next >= parts) {
            return;
        }
        if (!atomic_compare_exchange_weak_explicit(
                &pool.ticket, &ticket, ticket + 1, memory_order_acq_rel, memory_order_acquire)) {
            continue;
        }
        adzi_run_part(pool.cut, (int)next);
        if (atomic_fetch_sub_explicit(&pool.unfinished, 1, memory_order_acq_rel) == 1) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_signal(&pool.done);
            pthread_mutex_unlock(&pool.lock);
        }
        ticket = atomic_load_explicit(&pool.ticket, memory_order_acquire);
    }
}

/* Waits for a launch that is newer than `*seen`, first spinning and then asleep, and writes its
 * number to `*seen`. Returns false if the pool is to end. */
static bool await_launch(uint64_t *seen)
{
    for (int spin = 0; spin < SPINS; ++spin) {
        uint64_t number = number_of(atomic_load_explicit(&pool.ticket, memory_order_acquire));
        if (number != *seen) {
            *seen = number;
            return true;
        }
        pause_briefly();
    }
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add_explicit(&pool.sleepers, 1, memory_order_seq_cst);
    uint64_t number = 0;
    while (
        (number = number_of(atomic_load_explicit(&pool.ticket, memory_order_seq_cst))) == *seen &&
        !pool.stopping) {
        pthread_cond_wait(&pool.wake, &pool.lock);
    }
    atomic_fetch_sub_explicit(&pool.sleepers, 1, memory_order_relaxed);
    bool go_on = !pool.stopping;
    pthread_mutex_unlock(&pool.lock);
    *seen = number;
    return go_on;
}

static void *worker(void *unused)
{
    (void)unused;
    uint64_t seen = 0;
    while (await_launch(&seen)) {
        work(seen);
    }
    return NULL;
}

/* Starts threads until there are `wanted` or the system refuses one. All signals are blocked in
 * them, so that the program's signals are handled by the program's own threads. */
static void start_workers(int wanted)
{
    int have = atomic_load_explicit(&pool.workers, memory_order_relaxed);
    if (have >= wanted) {
        return;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (have < wanted && pthread_create(&pool.threads[have], NULL, worker, NULL) == 0) {
        ++have;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store_explicit(&pool.workers, have, memory_order_relaxed);
    pool.owner = getpid();
}

/* Publishes a launch and returns its number. A worker that goes to sleep raises `sleepers` and then
 * reads the ticket. This function writes the ticket and then reads `sleepers`. All four accesses
 * are sequentially consistent, so at least one of the two threads sees what the other has written.
 * No worker sleeps through a launch. */
static uint64_t publish(const adzi_cut *cut)
{
    uint64_t number =
        (number_of(atomic_load_explicit(&pool.ticket, memory_order_relaxed)) + 1) & UINT32_MAX;
    pool.cut = cut;
    atomic_store_explicit(&pool.unfinished, cut->parts, memory_order_relaxed);
    atomic_store_explicit(
        &pool.ticket, number << 32 | (uint64_t)cut->parts << 16, memory_order_seq_cst);
    if (atomic_load_explicit(&pool.sleepers, memory_order_seq_cst) > 0) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    return number;
}

/* Waits until all parts are done, first spinning and then asleep. */
static void await_parts(void)
{
    for (int spin = 0; spin < SPINS; ++spin) {
        if (atomic_load_explicit(&pool.unfinished, memory_order_acquire) == 0) {
            return;
        }
        pause_briefly();
    }
    pthread_mutex_lock(&pool.lock);
    while (atomic_load_explicit(&pool.unfinished, memory_order_acquire) > 0) {
        pthread_cond_wait(&pool.done, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
}

bool adzi_pool_run(const adzi_cut *cut)
{
    if (atomic_flag_test_and_set_explicit(&pool.busy, memory_order_acquire)) {
        return false;
    }
    start_workers(cut->parts - 1);
    work(publish(cut));
    await_parts();
    atomic_flag_clear_explicit(&pool.busy, memory_order_release);
    return true;
}

/* Ends the threads when the library is unloaded, so that leak checkers report nothing. `busy` stays
 * set, so that no later launch uses the pool. */
__attribute__((destructor)) static void stop_workers(void)
{
    int have = atomic_load_explicit(&pool.workers, memory_order_relaxed);
    if (have == 0 || pool.owner != getpid() ||
        atomic_flag_test_and_set_explicit(&pool.busy, memory_order_acquire)) {
        return; /* no threads, a fork's child, or exit() during a launch */
    }
    pthread_mutex_lock(&pool.lock);
    pool.stopping = true;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < have; ++i) {
        pthread_join(pool.threads[i], NULL);
    }
}

#endif
