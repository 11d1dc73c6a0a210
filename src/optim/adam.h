/* The numbers of the Adam family, for its kernels: Adam, AdamW, AMSGrad, AdaBelief and RAdam. */
#ifndef ADZI_OPTIM_ADAM_H
#define ADZI_OPTIM_ADAM_H

#include "adze/optim/type.h"

/** How the parameter moves, and the numbers of the formula in adam.kernel.c. All modes update the
 * moments and apply the decay:
 *
 *     ADAPTIVE   w = keep w - step m / (root sqrt(v) + eps)
 *     PLAIN      w = keep w - step m
 *     WAIT       w = keep w
 *
 * FRESH1 and FRESH2 are 1 - beta1 and 1 - beta2. MODE is one of the modes. */
ADZ_C_TEXT(adzi_adam_names, enum { ADZI_ADAM_ADAPTIVE, ADZI_ADAM_PLAIN, ADZI_ADAM_WAIT };
           enum { ADZI_ADAM_N_BETA1, ADZI_ADAM_N_FRESH1, ADZI_ADAM_N_BETA2, ADZI_ADAM_N_FRESH2,
               ADZI_ADAM_N_KEEP, ADZI_ADAM_N_DECAY, ADZI_ADAM_N_SIGN, ADZI_ADAM_N_ROOT,
               ADZI_ADAM_N_EPS, ADZI_ADAM_N_STEP, ADZI_ADAM_N_MODE, ADZI_ADAM_NUMBERS };)

/** The states, in their order: m, v, and the largest v so far, which AMSGrad uses instead of v. */
enum { ADZI_ADAM_M, ADZI_ADAM_V, ADZI_ADAM_MOST };

#endif
