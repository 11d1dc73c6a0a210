/* One side of a comparison that a script drives step by step. */
#ifndef ADZE_BENCH_ANSWERS_H
#define ADZE_BENCH_ANSWERS_H

typedef struct {
    double (*step)(void *user);   /* makes a training step and returns its loss */
    double (*first)(void *user);  /* the loss of the first weights; no gradient is recorded */
    void (*captured)(void *user); /* prints what the line "captured" asks for; or NULL */
    void (*timed)(void *user);    /* instead of `step`: takes its own times and prints the answer */
} side;

/**
 * Answers each line of standard input with a line:
 *
 *     first      the loss of the first weights
 *     memory     what any other line gives, and the bytes by which adze's peak and the process's
 *                peak grew during the step
 *     captured   what `captured` prints, if the side has it
 *     any other  the seconds that a step took, by the clock and of the processor, and its loss;
 *                or what `timed` prints
 */
void answer_lines(const side *s, void *user);

#endif
