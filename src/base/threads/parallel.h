/* Parallel loops: every kernel of the library is started by adzi_launch.
 *
 * Note [One launch]
 * A launch gives a kernel its units 0 .. units-1, cut into contiguous parts, one part per thread.
 * Small work (units <= grain) stays on the calling thread and costs one comparison. Choose grain
 * such that `grain` units take some ten microseconds. A kernel must give the same bits however its
 * units are cut.
 *
 * A launch can be captured (base/capture.h): a plan keeps the kernel and a copy of its arguments,
 * and runs the kernel again later, with other contents in the same memory. Code that launches
 * therefore keeps three rules, which tests/ops/replays.c checks for every operator:
 *
 * - The arguments are one plain struct. It holds no pointer to the stack of a function: that memory
 *   is gone when the launch is replayed. Working memory of kernels that is no tensor comes from
 *   adzi_alloc_for_kernels.
 * - What depends on the contents of a tensor is computed by a kernel, and so is every write to a
 *   tensor's memory. The host may read a result of a launch only in order to fail: an index out of
 *   range is found by a kernel, and the call that launched it then records the error. Numbers that
 *   a program gives (adz_tensor_from) are constants of the captured call.
 * - Some values change from step to step without being tensors: the offset of a generator, the
 *   learning rate, the number of steps taken. A kernel reads them through a pointer to their owner.
 *
 * A launch inside a kernel belongs to the launch that runs the kernel: an observer ignores it.
 */
#ifndef ADZI_BASE_PARALLEL_H
#define ADZI_BASE_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/threads/addresses.h"
#include "base/threads/kernel.h"

/** The most threads one launch uses, whatever adz_set_num_threads says. */
enum { ADZI_MAX_THREADS = 256 };

/**
 * The type of an observer, which is called instead of each launch while it is set. The observer
 * computes the units by adzi_launch_unobserved, or by calling the kernel itself. The arguments are
 * `size` bytes at `args`, which the observer may copy.
 */
typedef void (*adzi_observer)(
    adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain);

/** The observer of all launches in the process; NULL for none. Tests set it. */
extern _Atomic(adzi_observer) adzi_launch_observer;

/** The grain of a launch whose units have `each` elements, a number of any type, if `least`
 * elements are worth a thread. 1 or more. */
#define adzi_grain_of(least, each) adzi_count_grain((least), (double)(each))

static inline int64_t adzi_count_grain(double least, double each)
{
    return each < least ? (int64_t)(least / (each > 1 ? each : 1)) : 1;
}

/** Computes all units, on several threads if there are more than `grain`, and does not call the
 * observer. */
void adzi_launch_unobserved(adzi_kernel kernel, const void *args, int64_t units, int64_t grain);

/**
 * Computes all units of a kernel whose arguments are `size` bytes. Use adzi_launch, which takes the
 * size from the type of the pointer.
 *
 * It runs serially inside another launch, in a forked child, and while another thread of the
 * program uses the pool.
 *
 * @param kernel  called with disjoint ranges that cover 0 .. units, in any order
 * @param args    given to the kernel; read by several threads at a time
 * @param size    bytes at `args`
 * @param units   0 or more; with 0 the kernel is called once with the empty range
 * @param grain   fewer units than this are not worth a thread; 1 or more
 */
void adzi_launch_sized(
    adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain);

/** What a capture is told of the arguments of a launch. */
typedef struct adzi_args_layout {
    const adzi_addresses *addresses; /* Note [Addresses of a launch] */
    const void *mask; /* of the size of the arguments: a byte is 0 where they have an undefined byte
                         between fields, else 0xff. NULL if the compiler cannot tell */
} adzi_args_layout;

/** adzi_launch_sized for a launch that may be captured. */
void adzi_launch_described(adzi_kernel kernel, const void *args, const adzi_args_layout *layout,
    size_t size, int64_t units, int64_t grain);

/* Computes `use`, in which `adzi_layout` is that of a struct. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define ADZI_CLEARS_PADDING 1
#endif
#endif
#ifdef ADZI_CLEARS_PADDING
#define ADZI_WITH_LAYOUT(type, use)                                             \
    __extension__({                                                             \
        type adzi_mask_;                                                        \
        memset(&adzi_mask_, 0xff, sizeof adzi_mask_);                           \
        __builtin_clear_padding(&adzi_mask_);                                   \
        const adzi_args_layout adzi_layout = { type##_addresses, &adzi_mask_ }; \
        use;                                                                    \
    })
#else
#define ADZI_WITH_LAYOUT(type, use)                                      \
    __extension__({                                                      \
        const adzi_args_layout adzi_layout = { type##_addresses, NULL }; \
        use;                                                             \
    })
#endif

/* A pointer to arguments. It does not compile if they are not of the type. */
#define ADZI_ARGS_OF(type, args) _Generic((args), type * : (args), const type * : (args))

/** Launches a kernel with the first `size` bytes of the struct that `args` points to. */
#define adzi_launch_part(kernel, type, args, size, units, grain)                                   \
    (atomic_load_explicit(&adzi_launch_observer, memory_order_acquire) == NULL                     \
            ? adzi_launch_sized((kernel), ADZI_ARGS_OF(type, args), (size), (units), (grain))      \
            : ADZI_WITH_LAYOUT(type, adzi_launch_described((kernel), (args), &adzi_layout, (size), \
                                         (units), (grain))))

/** Launches a kernel with a struct of arguments, whose addresses a line beside it names
 * (ADZI_ADDRESSES). */
#define adzi_launch(kernel, type, args, units, grain) \
    adzi_launch_part(kernel, type, args, sizeof(type), units, grain)

/** The number of threads that the calling thread's context allows. */
int adzi_num_threads(void);

/** Whether the calling thread is computing a part of a parallel launch. */
bool adzi_inside_launch(void);

/** What runs the parts of a launch in this build: "openmp" or "pool". */
const char *adzi_threads_kind(void);

/* ---- between parallel.c and the back end ---------------------------------------------------- */

/** True while the thread computes a part of a launch. It is not a field of adzi_thread, because the
 * threads of the pool and of OpenMP have no such state. */
extern _Thread_local bool adzi_inside_part __attribute__((tls_model("initial-exec")));

/** One launch, cut into `parts` ranges of `length` units. The last range may be shorter. */
typedef struct adzi_cut {
    adzi_kernel kernel;
    const void *args;
    int64_t units;
    int64_t length;
    int parts;
} adzi_cut;

/** Computes one part. The thread counts as inside a launch while it does so. */
void adzi_run_part(const adzi_cut *cut, int part);

/** Computes all parts on the pool's threads and on the calling thread. Returns false without
 * computing anything if another thread uses the pool. */
bool adzi_pool_run(const adzi_cut *cut);

#endif
