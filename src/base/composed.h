/* The names of compositions in errors.
 *
 * Note [Errors of compositions]
 * A composition is a public operator that calls other public operators. Where one of those refuses
 * its inputs, the error has to name what the program has called. A composition therefore begins
 * with ADZI_COMPOSED(), and errors that are recorded until it returns have its name. If
 * compositions call each other, it is the name of the outermost one.
 *
 * Only errors and warnings see that name. Nodes, launches, traces and plans have those of the
 * operators that compute. A plan keeps the name with what it repeats on the host, because that may
 * record an error in a replay.
 *
 * The name ends when the composition returns. Code of the program that runs meanwhile has errors of
 * its own, so the door and the callbacks of messages set the name aside. If such code jumps away,
 * nothing is left of the name. */
#ifndef ADZI_BASE_COMPOSED_H
#define ADZI_BASE_COMPOSED_H

#include "base/threads/thread.h"

/** Begins a composition. Returns the thread, or NULL inside another composition. */
static inline adzi_thread *adzi_composed_begin(const char *name)
{
    adzi_thread *thread = adzi_self();
    if (thread->composed != NULL) {
        return NULL;
    }
    thread->composed = name;
    return thread;
}

/** Called when the variable of ADZI_COMPOSED ends. */
static inline void adzi_composed_end(adzi_thread *const *thread)
{
    if (*thread != NULL) {
        (*thread)->composed = NULL;
    }
}

/** Begins the body of a composition: until the function returns, errors have its name without
 * "adz_". */
#define ADZI_COMPOSED()                                                                    \
    __attribute__((cleanup(adzi_composed_end), unused)) adzi_thread *const adzi_composed = \
        adzi_composed_begin(__func__ + sizeof "adz_" - 1)

#endif
