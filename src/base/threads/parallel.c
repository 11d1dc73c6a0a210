/* Launches: how many threads there are, and how the units of a launch are cut for them. */
#include "base/threads/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef ADZI_OPENMP
#include <omp.h>
#endif

#include "adze/base.h"
#include "base/threads/request.h"
#include "base/threads/thread.h"

_Atomic(adzi_observer) adzi_launch_observer;

/* Parts of ROUND_FROM units or more are cut at multiples of ROUND_TO units, so that two threads do
 * not write to the same cache line. Shorter parts are not rounded: their units are rows or blocks,
 * which are large. */
enum { ROUND_TO = 64, ROUND_FROM = 16 * ROUND_TO };

static atomic_bool forked;      /* this process is a fork's child, which has no pool threads */
static int threads_default = 1; /* used when the context's number of threads is 0 */

/* ---- how many threads ----------------------------------------------------------------------- */

static int available_processors(void)
{
    long count = 0;
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        count = CPU_COUNT(&set);
    }
#endif
    if (count < 1) {
        count = sysconf(_SC_NPROCESSORS_ONLN);
    }
    return count < 1 ? 1 : (int)count;
}

/* ADZE_NUM_THREADS, or else the number of processors that this process may use. */
static int find_default(void)
{
    const int request = adzi_threads_request();
    return request > 0 ? request : available_processors();
}

static void mark_forked(void)
{
    atomic_store_explicit(&forked, true, memory_order_relaxed);
    adzi_inside_part = false;
}

/* A fork's child computes serially, because the threads of a pool do not survive a fork. OpenMP
 * would wait for them forever. */
__attribute__((constructor)) static void init_at_load(void)
{
    threads_default = find_default();
    pthread_atfork(NULL, NULL, mark_forked);
}

int adzi_num_threads(void)
{
    int wanted = adzi_context_threads(adzi_self()->context);
    return wanted > 0 ? wanted : threads_default;
}

/* ---- launching ------------------------------------------------------------------------------ */

const char *adzi_threads_kind(void)
{
#ifdef ADZI_OPENMP
    return "openmp";
#else
    return "pool";
#endif
}

#ifdef ADZI_OPENMP
static bool run_parts(const adzi_cut *cut)
{
    if (omp_in_parallel()) {
        return false; /* the program's own parallel region: its threads are busy with it */
    }
#pragma omp parallel num_threads(cut->parts)
    {
        int team = omp_get_num_threads(); /* may be fewer than asked for */
        for (int part = omp_get_thread_num(); part < cut->parts; part += team) {
            adzi_run_part(cut, part);
        }
    }
    return true;
}
#else
static bool run_parts(const adzi_cut *cut)
{
    return adzi_pool_run(cut);
}
#endif

void adzi_launch_unobserved(adzi_kernel kernel, const void *args, int64_t units, int64_t grain)
{
    if (units > grain && !adzi_inside_part &&
        !atomic_load_explicit(&forked, memory_order_relaxed)) {
        int64_t parts = units / (grain < 1 ? 1 : grain);
        int64_t threads = adzi_num_threads();
        threads = threads > ADZI_MAX_THREADS ? ADZI_MAX_THREADS : threads;
        parts = parts > threads ? threads : parts;
        if (parts > 1) {
            int64_t length = units / parts + (units % parts != 0);
            if (length >= ROUND_FROM) {
                length += (ROUND_TO - length % ROUND_TO) % ROUND_TO;
            }
            parts = units / length + (units % length != 0);
            adzi_cut cut = { kernel, args, units, length, (int)parts };
            if (run_parts(&cut)) {
                return;
            }
        }
    }
    kernel(args, 0, units);
}

void adzi_launch_sized(
    adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    adzi_observer observer = atomic_load_explicit(&adzi_launch_observer, memory_order_acquire);
    if (observer != NULL) {
        observer(kernel, args, size, units, grain);
    } else if (units <= grain) { /* small work stays on the calling thread */
        kernel(args, 0, units);
    } else {
        adzi_launch_unobserved(kernel, args, units, grain);
    }
}

void adzi_launch_described(adzi_kernel kernel, const void *args, const adzi_args_layout *layout,
    size_t size, int64_t units, int64_t grain)
{
    if (!adzi_inside_part) { /* a thread of the pool has no state of its own */
        adzi_self()->layout = layout;
    }
    adzi_launch_sized(kernel, args, size, units, grain);
    if (!adzi_inside_part) {
        adzi_self()->layout = NULL;
    }
}
