/* A recorder of launches, for tests. See Note [One launch] in src/base/parallel.h. */
#ifndef ADZE_TESTS_OPS_REPLAY_H
#define ADZE_TESTS_OPS_REPLAY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/** Starts to record the launches of this thread. Memory that it frees is kept until replay_end. */
void replay_begin(void);

/** Stops recording. Returns how many words of recorded arguments point to this thread's stack. */
size_t replay_stop(void);

/** Runs the recorded launches again, in order. Returns how many there are. */
size_t replay_run(void);

/** Forgets the recorded launches and frees the memory that was kept. */
void replay_end(void);

#endif
