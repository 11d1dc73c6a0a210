/* Progress of a training: a bar on a terminal, plain lines elsewhere. */
#ifndef EXAMPLES_PROGRESS_H
#define EXAMPLES_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool terminal;
    const char *unit;     /* "epoch" */
    int64_t steps, first; /* all steps; the steps that were done before this run, 0 unless set */
    double began, drawn;  /* seconds of a clock that only goes forward */
} progress;

/* Declares that progress is printed as lines, even if standard output looks like a terminal. mpirun
 * gives its programs such an output and forwards it to a file. */
void progress_in_lines(void);

progress progress_begin(const char *unit, int64_t steps);

/* Shows that step number `step`, from 1, is done. `numbers` is a text such as its loss. */
void progress_step(progress *p, int64_t step, const char *numbers, bool last);

void progress_end(const progress *p);
double progress_seconds(const progress *p);

/* Seconds of a clock that only goes forward. */
double seconds_now(void);

#endif
