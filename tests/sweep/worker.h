/* Declarations of a worker's files: its progress, its options, and the functions that make calls.
 */
#ifndef ADZE_TESTS_SWEEP_WORKER_H
#define ADZE_TESTS_SWEEP_WORKER_H

#include "sweep.h"

enum { MOST_COMPLAINTS = 3 };

/* Shared memory of a worker and its parent. */
typedef struct progress {
    size_t function; /* the present function, or the next one */
    size_t call;     /* the present call of that function, or the next one */
    size_t calls, failed, complaints, complaints_of_function, crashes_of_function;
    bool inside;     /* a call is being made */
    char text[1000]; /* the call in words */
} progress;

extern progress *now;
extern uint64_t seed;
extern size_t random_calls;
extern unsigned seconds_per_call;
extern unsigned wait_per_call;
extern bool verbose;
extern char first_error[300]; /* the message of the first call of a function */

/* ---- call.c ---------------------------------------------------------------------------------- */

/* Prints a complaint about the present call, up to MOST_COMPLAINTS for each function. */
void complain(const char *format, ...);

/* Restores the settings of the process and the thread that a call may have changed. */
void restore_settings(void);

/* Makes one call; true if it succeeded. `unsized`: a struct without its size must be refused. */
bool call(const function *f, const size_t *choices, uint64_t random, bool unsized);

/* ---- attack.c -------------------------------------------------------------------------------- */

/* Makes all calls of a function from the call `first` on; a worker before this made the others. */
void sweep_function(const function *f, size_t first);

#endif
