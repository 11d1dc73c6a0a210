/* What the optimizers of the Adam family share: the first settings, the states, the launch of the
 * kernel. */
#ifndef ADZI_OPTIM_ADAM_FAMILY_H
#define ADZI_OPTIM_ADAM_FAMILY_H

#include "optim/adam.h"
#include "optim/optimizer.h"

/* The first settings of every optimizer of the family, in this order. */
enum {
    ADZI_ADAM_LR,
    ADZI_ADAM_BETA1,
    ADZI_ADAM_BETA2,
    ADZI_ADAM_EPS,
    ADZI_ADAM_WEIGHT_DECAY,
    ADZI_ADAM_SETTINGS
};
/* The names and ranges of these settings. */
#define ADZI_ADAM_NAMES                                                                  \
    { "lr", ADZI_NOT_NEGATIVE }, { "beta1", ADZI_FRACTION }, { "beta2", ADZI_FRACTION }, \
        { "eps", ADZI_NOT_NEGATIVE },                                                    \
    {                                                                                    \
        "weight_decay", ADZI_NOT_NEGATIVE                                                \
    }

/* The states of the family, named as in PyTorch: m, v and the largest v so far. */
#define ADZI_ADAM_STATES                          \
    {                                             \
        "exp_avg", "exp_avg_sq", "max_exp_avg_sq" \
    }
/* The states as the bits of `needs`: m and v, with or without the largest v. */
enum { ADZI_ADAM_MOMENTS = 3u, ADZI_ADAM_MOMENTS_AND_MOST = 7u };

/** Numbers with betas and epsilon from the settings, no decay, no bias correction and the mode
 * ADAPTIVE. The caller sets `step` and whatever else differs. */
adzi_adam_numbers adzi_adam_numbers_of(const adzi_moment *at);

/** Launches the kernel over the update's parameter and states. */
void adzi_adam_update(const adzi_update *u);

/**
 * RAdam's rectification: the factor by which the adaptive step is shortened. It depends on `rho`,
 * the effective number of gradients in the second moment after `steps` steps, which is stored.
 *
 *     rho_inf = 2 / (1 - beta2) - 1,   rho = rho_inf - 2 steps beta2^steps / (1 - beta2^steps)
 *     r = sqrt((rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho))
 *
 * The result is 0 for rho <= 4, where the variance of the step is not defined.
 */
double adzi_radam_rectification(double beta2, double steps, double *rho);

#endif
