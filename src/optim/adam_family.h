/* Adam and its relatives have settings, states and the launch of the kernel in common. */
#ifndef ADZI_OPTIM_ADAM_FAMILY_H
#define ADZI_OPTIM_ADAM_FAMILY_H

#include "optim/adam.h"
#include "optim/optimizer.h"

/* The first settings of all of them, in this order. */
enum {
    ADZI_ADAM_LR,
    ADZI_ADAM_BETA1,
    ADZI_ADAM_BETA2,
    ADZI_ADAM_EPS,
    ADZI_ADAM_WEIGHT_DECAY,
    ADZI_ADAM_SETTINGS
};
#define ADZI_ADAM_NAMES                                                                  \
    { "lr", ADZI_NOT_NEGATIVE }, { "beta1", ADZI_FRACTION }, { "beta2", ADZI_FRACTION }, \
        { "eps", ADZI_NOT_NEGATIVE },                                                    \
    {                                                                                    \
        "weight_decay", ADZI_NOT_NEGATIVE                                                \
    }

/* And their states. */
#define ADZI_ADAM_STATES                          \
    {                                             \
        "exp_avg", "exp_avg_sq", "max_exp_avg_sq" \
    }
enum { ADZI_ADAM_MOMENTS = 3u, ADZI_ADAM_MOMENTS_AND_MOST = 7u }; /* for `needs` */

/** Numbers with the moments' settings and the epsilon filled in; no decay, adaptive. */
adzi_adam_numbers adzi_adam_numbers_of(const adzi_moment *at);

/** Launches the kernel over the update's parameter and states. */
void adzi_adam_update(const adzi_update *u);

/** The length of a rectified step over that of an unrectified one; 0 while the number of gradients
 * that the second moment rests on, which it stores in `rho`, is too small to tell. */
double adzi_radam_rectification(double beta2, double steps, double *rho);

#endif
