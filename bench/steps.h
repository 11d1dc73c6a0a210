/* Rounds of steps too short for a clock. */
#ifndef ADZE_BENCH_STEPS_H
#define ADZE_BENCH_STEPS_H

#include "bench.h"

typedef struct {
    int64_t steps, threads;
    bool json, rounds, captured;
    const char *start; /* where weights and data are saved to before the first step; or NULL */
    double first_loss; /* the first loss, without dropout; the other side must compute it too */
} step_options;

/* Reads --steps, --threads, --json, --rounds and --start. */
bool read_step_options(int argc, char **argv, step_options *o);

/* Runs a plan; for --captured, as a step that run_step_rounds times. */
void run_plan(void *plan);

/* Runs rounds of `step`, each in turn with `floor` where there is one, and prints a line for each:
 * one round, or with --rounds one for every line of standard input. The line "first" asks for the
 * first loss instead. */
int run_step_rounds(const char *name, const step_options *o, void (*step)(void *), void *user,
    void (*floor)(void *), void *floor_user);

#endif
