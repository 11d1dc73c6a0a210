/* Threads: every kernel launch of the library goes through adzi_launch.
 *
 * Note [One launch]
 * A launch hands a kernel its units 0 .. units-1, cut into contiguous parts, one part per thread.
 * Small work (units <= grain) never leaves the calling thread and costs one comparison, so grain
 * is chosen such that `grain` units take some ten microseconds. Kernels must give the same bits
 * however their units are cut. Whoever wants to see launches (a tracer, a recorder) sets
 * adzi_launch_observer, which is asked on both paths.
 */
#ifndef ADZI_BASE_PARALLEL_H
#define ADZI_BASE_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/** The most threads one launch uses, whatever adz_set_num_threads says. */
enum { ADZI_MAX_THREADS = 256 };

/** Called instead of each launch while set; it runs the work by adzi_launch_unobserved. */
typedef void (*adzi_observer)(adzi_kernel kernel, const void *args, int64_t units, int64_t grain);

extern _Atomic(adzi_observer) adzi_launch_observer;

/** adzi_launch's way for everything but small unobserved work. */
void adzi_launch_slow(adzi_kernel kernel, const void *args, int64_t units, int64_t grain);

/** A launch that no observer sees: what an observer calls. */
void adzi_launch_unobserved(adzi_kernel kernel, const void *args, int64_t units, int64_t grain);

/**
 * Computes all units of a kernel.
 *
 * Runs serially inside another launch, in a forked child, and while another user's thread holds
 * the pool.
 *
 * @param kernel  called with disjoint ranges that cover 0 .. units, in any order
 * @param args    handed on; read by several threads at a time
 * @param units   0 or more; with 0 the kernel is called once with the empty range
 * @param grain   fewer units than this are not worth a thread; 1 or more
 */
static inline void adzi_launch(adzi_kernel kernel, const void *args, int64_t units, int64_t grain)
{
    if (units <= grain &&
        atomic_load_explicit(&adzi_launch_observer, memory_order_relaxed) == NULL) {
        kernel(args, 0, units);
    } else {
        adzi_launch_slow(kernel, args, units, grain);
    }
}

/** The number of threads that the calling thread's context allows. */
int adzi_num_threads(void);

/** Whether the calling thread is computing a part of a parallel launch. */
bool adzi_inside_launch(void);

/** "openmp" or "pool". */
const char *adzi_threads_kind(void);

/* ---- between parallel.c and the back end ---------------------------------------------------- */

/** One launch cut into `parts` ranges of `length` units; the last may be shorter. */
typedef struct adzi_cut {
    adzi_kernel kernel;
    const void *args;
    int64_t units;
    int64_t length;
    int parts;
} adzi_cut;

/** Computes one part, marking the thread as inside a launch. */
void adzi_run_part(const adzi_cut *cut, int part);

/** Computes all parts on the pool's threads and the caller's; false when the pool is taken. */
bool adzi_pool_run(const adzi_cut *cut);

#endif
