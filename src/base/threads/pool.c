/* The library's own threads: one pool per process, which runs one launch at a time.
 *
 * Note [The ticket]
 * A launch is published as one 64-bit word, the ticket. It holds the number of the launch, the
 * number of its parts and the next part to be claimed. A thread claims a part by raising `next`
 * with a compare-and-swap. The swap fails if the ticket belongs to a newer launch, so a thread that
 * wakes up late cannot touch a finished launch. The launching thread claims parts as well, so that
 * no launch waits for a thread to wake up. The fields of a launch are read only after a claim,
 * because they are valid until all claimed parts are done.
 *
 * Note [Where a thread wakes up]
 * Linux often wakes a thread on the processor where it fell asleep. If the launching thread has
 * moved to that processor meanwhile, the two take turns there, although another processor is idle.
 * One of the two sleeps at almost any time, so the system sees no load that it should spread, and
 * this can last for seconds. A launch therefore forbids its own processor to each thread that
 * fell asleep there, before it wakes it. The thread allows it again after its part.
 */
#include "base/threads/parallel.h"

#ifndef ADZI_OPENMP

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

/* The number of times that an idle thread looks for work before it sleeps, some 100 microseconds.
 * That is longer than the time between most launches of a training step. It is much shorter than
 * the time slice that the system would give to another process on this processor. */
enum { SPINS = 3000 };

typedef struct {
    pthread_t thread;
    /* Processors, or -1. The second is the thread's own while the first is -1. */
    int slept_on;  /* where it fell asleep; -1 while it is awake; under the pool's lock */
    int forbidden; /* to it, by the launch that woke it */
} pool_thread;

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
    pool_thread threads[ADZI_MAX_THREADS];
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

/* ---- processors: Note [Where a thread wakes up] ---------------------------------------------- */

/* The processor that the calling thread runs on, or -1. */
static int this_processor(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Forbids or allows a processor to a thread. Returns false if the system refuses: it does so if
 * the processor is the only one that the thread may use. */
static bool permit(pthread_t thread, int processor, bool allowed)
{
#ifdef __linux__
    cpu_set_t set;
    if (pthread_getaffinity_np(thread, sizeof set, &set) != 0) {
        return false;
    }
    if (allowed) {
        CPU_SET((size_t)processor, &set);
    } else {
        CPU_CLR((size_t)processor, &set);
    }
    return pthread_setaffinity_np(thread, sizeof set, &set) == 0;
#else
    (void)thread, (void)processor, (void)allowed;
    return false;
#endif
}

/* Wakes all sleeping threads, those that fell asleep here on another processor. */
static void wake_workers(void)
{
    pthread_mutex_lock(&pool.lock);
    const int here = this_processor();
    for (int i = atomic_load_explicit(&pool.workers, memory_order_relaxed) - 1; i >= 0; --i) {
        pool_thread *t = &pool.threads[i];
        if (here >= 0 && t->slept_on == here && t->forbidden < 0 &&
            permit(t->thread, here, false)) {
            t->forbidden = here;
        }
    }
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

/* ---- launches ------------------------------------------------------------------------------- */

/* Sleeps until there is a launch other than `seen` or the pool ends, and returns its number. The
 * calling thread holds `lock`. */
static uint64_t sleep_until_launch(pool_thread *self, uint64_t seen)
{
    uint64_t number = 0;
    self->slept_on = this_processor();
    while ((number = number_of(atomic_load_explicit(&pool.ticket, memory_order_seq_cst))) == seen &&
           !pool.stopping) {
        pthread_cond_wait(&pool.wake, &pool.lock);
    }
    self->slept_on = -1;
    return number;
}

/* Waits for a launch that is newer than `*seen`, first spinning and then asleep, and writes its
 * number to `*seen`. Returns false if the pool is to end. */
static bool await_launch(pool_thread *self, uint64_t *seen)
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
    *seen = sleep_until_launch(self, *seen);
    atomic_fetch_sub_explicit(&pool.sleepers, 1, memory_order_relaxed);
    bool go_on = !pool.stopping;
    pthread_mutex_unlock(&pool.lock);
    return go_on;
}

static void *worker(void *state)
{
    pool_thread *self = state;
    uint64_t seen = 0;
    while (await_launch(self, &seen)) {
        work(seen);
        if (self->forbidden >= 0) {
            permit(self->thread, self->forbidden, true);
            self->forbidden = -1;
        }
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
    for (; have < wanted; ++have) {
        pool_thread *next = &pool.threads[have];
        next->slept_on = next->forbidden = -1;
        if (pthread_create(&next->thread, NULL, worker, next) != 0) {
            break;
        }
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
        wake_workers();
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
        pthread_join(pool.threads[i].thread, NULL);
    }
}

#endif
