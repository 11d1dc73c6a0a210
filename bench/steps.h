/* Rounds of steps too short for a clock. */
#ifndef ADZE_BENCH_STEPS_H
#define ADZE_BENCH_STEPS_H

#include "bench.h"

typedef struct {
    int64_t steps, threads;
    bool json, rounds;
} step_options;

/* Reads --steps, --threads, --json and --rounds. */
bool read_step_options(int argc, char **argv, step_options *o);

/* Runs rounds of `step`, each beside `floor` where there is one, and prints a line for each: one
 * round, or with --rounds one for every line of standard input. */
int run_step_rounds(const char *name, const step_options *o, void (*step)(void *), void *user,
    void (*floor)(void *), void *floor_user);

#endif
