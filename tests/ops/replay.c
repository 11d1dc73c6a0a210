/* Launches can be recorded and replayed: Note [One launch] in src/base/parallel.h. replays.c does
 * it for operators, tests/optim/test_replay.c for training steps.
 *
 * Each sample of an operator is run once while its launches are recorded. Then other contents are
 * written into its inputs, and the recorded launches are run again in order. Results and gradients
 * must have the bits of an ordinary call with these contents. So the test fails when the host
 * computes something from the contents of a tensor, or writes to a tensor beside the launches.
 *
 * While a sample is recorded, freed memory is kept and not used again, because replayed launches
 * write to it.
 */
#include "ops/replay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/parallel.h"

typedef struct launch {
    adzi_kernel kernel;
    void *args; /* a copy */
    size_t size;
    int64_t units;
} launch;

typedef struct kept_block {
    void *block;
    size_t bytes;
} kept_block;

static launch *launches;
static size_t n_launches, launches_capacity;
static kept_block *kept;
static size_t n_kept, kept_capacity;
static bool inside;           /* a recorded kernel is running; launches within it belong to it */
static size_t stack_pointers; /* words of arguments that point to the stack */

static void *one_more(void *array, size_t *capacity, size_t count, size_t element)
{
    if (count == *capacity) {
        *capacity = *capacity * 2 + 64;
        array = realloc(array, *capacity * element);
        assert_non_null(array);
    }
    return array;
}

/* How many aligned words of the arguments are addresses within this thread's stack. A word whose
 * lowest byte is 0 or 1 does not count: it may be a bool with padding behind it, whose bytes are
 * undefined. */
static size_t count_stack_pointers(const void *args, size_t size)
{
    static uintptr_t low, high;
    if (high == 0) {
        pthread_attr_t attributes;
        void *base;
        size_t length;
        assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
        assert_int_equal(pthread_attr_getstack(&attributes, &base, &length), 0);
        pthread_attr_destroy(&attributes);
        low = (uintptr_t)base;
        high = low + length;
    }
    size_t found = 0;
    for (size_t at = 0; at + sizeof(uintptr_t) <= size; at += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, (const char *)args + at, sizeof word);
        found += word >= low && word < high && (word & 0xff) > 1;
    }
    return found;
}

static void record(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)grain;
    if (inside) {
        kernel(args, 0, units);
        return;
    }
    launches = one_more(launches, &launches_capacity, n_launches, sizeof *launches);
    launch *l = &launches[n_launches++];
    *l = (launch){ kernel, malloc(size), size, units };
    assert_non_null(l->args);
    memcpy(l->args, args, size);
    stack_pointers += count_stack_pointers(args, size);
    inside = true;
    kernel(args, 0, units);
    inside = false;
}

static void keep(void *block, size_t bytes)
{
    kept = one_more(kept, &kept_capacity, n_kept, sizeof *kept);
    kept[n_kept++] = (kept_block){ block, bytes };
}

void replay_begin(void)
{
    replay_end();
    adzi_alloc_keep(keep);
    inside = false;
    stack_pointers = 0;
    atomic_store(&adzi_launch_observer, record);
}

size_t replay_stop(void)
{
    atomic_store(&adzi_launch_observer, NULL);
    return stack_pointers;
}

size_t replay_run(void)
{
    for (size_t i = 0; i < n_launches; ++i) {
        launches[i].kernel(launches[i].args, 0, launches[i].units);
    }
    return n_launches;
}

void replay_end(void)
{
    atomic_store(&adzi_launch_observer, NULL);
    adzi_alloc_keep(NULL);
    while (n_launches > 0) {
        free(launches[--n_launches].args);
    }
    while (n_kept > 0) {
        --n_kept;
        adzi_free(kept[n_kept].block, kept[n_kept].bytes);
    }
    free(launches);
    free(kept);
    launches = NULL;
    kept = NULL;
    launches_capacity = kept_capacity = 0;
}
