/* A step of training as a function that can be written. */
#ifndef SHIP_TRAIN_H
#define SHIP_TRAIN_H

#include "law.h"

/* Makes the optimizer, and the target that the step compares the result with. `how` is
 * LOSS,OPTIMIZER. `rate` is the optimizer's, or 0 for that of its kind. Ends the program if the
 * network cannot be trained so. */
void prepare_training(law *l, const char *how, double rate);

/* New targets that fit the loss. */
void draw_target(law *l);

/* results[0] is the loss before the step. The network computes as in evaluation. */
adz_status train_step(adz_tensor **results, void *user);

#endif
