/* The functions of higher rooms that src/base calls, and of its own upper layers.
 *
 * Links between rooms run one way, as includes do (tests/checks/links.py checks both). Where a
 * lower room has to call a higher one, it calls through a table. The higher room fills in its
 * entries by a constructor, before main() runs. A program may link libadze.a without a room. It
 * then has no object of that room, so that the room's entries are never called.
 */
#ifndef ADZI_BASE_THREADS_UPCALLS_H
#define ADZI_BASE_THREADS_UPCALLS_H

#include <stddef.h>

struct adzi_run;
struct adzi_thread;

/** A function that runs when the library is loaded. */
#define ADZI_AT_LOAD __attribute__((constructor)) static void

typedef struct adzi_upper_rooms {
    /** base/frame.c: releases what the state of a thread that ends holds. */
    void (*thread_end)(struct adzi_thread *thread);

    /** base/errors/unheard.c: prints the thread's error if nobody has heard of it. */
    void (*error_end)(struct adzi_thread *thread);

    /** src/tensor: releases a thread's temporaries from `mark` on. */
    void (*scope_unwind)(struct adzi_thread *thread, size_t mark);

    /** src/autograd: ends a backward that was left by a jump. */
    void (*run_abandon)(struct adzi_run *run);

    /**
     * src/nn: the names of a module in the path of messages. `caller` is the module that has called
     * it, or NULL for none. Writes one or two names and returns how many.
     */
    int (*path_names)(const void *caller, const void *module, const char *names[2]);
} adzi_upper_rooms;

/** The entries of a room that is not linked are NULL. */
extern adzi_upper_rooms adzi_upper;

#endif
