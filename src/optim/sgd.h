/* The settings and numbers of stochastic gradient descent, for its kernel. */
#ifndef ADZI_OPTIM_SGD_H
#define ADZI_OPTIM_SGD_H

#include "adze/optim/type.h"

/** The settings, in their order, and the numbers of the formula in sgd.kernel.c. Flags are 0 or 1.
 * FRESH is the part of the gradient that joins m. SIGN is -1 to ascend. */
ADZ_C_TEXT(adzi_sgd_names,
           enum { ADZI_SGD_LR, ADZI_SGD_MOMENTUM, ADZI_SGD_DAMPENING, ADZI_SGD_WEIGHT_DECAY,
               ADZI_SGD_NESTEROV, ADZI_SGD_MAXIMIZE, ADZI_SGD_SETTINGS };
           enum { ADZI_SGD_BY_LR, ADZI_SGD_BY_MOMENTUM, ADZI_SGD_FRESH, ADZI_SGD_DECAY,
               ADZI_SGD_SIGN, ADZI_SGD_LOOKS_AHEAD, ADZI_SGD_NUMBERS };)

extern const adz_optimizer_type adzi_sgd_type;

#endif
