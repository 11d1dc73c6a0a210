/* Steps of a training. Plans replay them (adze/plan.h), with the bits of ordinary steps. */
#ifndef EXAMPLES_STEPS_H
#define EXAMPLES_STEPS_H

#include <adze/adze.h>

/* Makes a step on a batch: forward, backward, optimizer, and gradients that end with the step
 * (adz_optimizer_zero_grad). Returns the loss, borrowed. What it does besides calls of adze is not
 * repeated. */
typedef adz_tensor *(*step_function)(adz_tensor *const *batch, void *user);

typedef struct steps steps;

enum { MOST_BATCH_TENSORS = 4 };

/* The text of the option, for --help. */
#define HELP_NO_CAPTURE                                                              \
    "  --no-capture           make each step anew instead of replaying a captured\n" \
    "                         one; the results are the same bits\n"

/* Batches have `tensors` tensors. If `capture` is false, each step is an ordinary one. */
steps *new_steps(step_function step, void *user, size_t tensors, bool capture);

/* Steps on batches of many shapes, such as texts of many lengths. A shape is captured when it comes
 * for the second time. At most 64 are captured, whose plans take at most 64 MiB; the other steps
 * are ordinary ones. */
steps *new_steps_of_many_shapes(step_function step, void *user, size_t tensors, bool capture);

/* Makes a step and returns its loss, borrowed until the next step or the end of the scope. Steps of
 * new_steps are replayed on batches of the first two shapes: whole ones, and the last one of an
 * epoch. A step on a batch of another shape is an ordinary one. */
adz_tensor *make_step(steps *s, adz_tensor *const *batch);

/* NULL is left alone. */
void free_steps(steps *s);

#endif
