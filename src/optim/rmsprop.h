/* The states and numbers of RMSprop, for its kernel. */
#ifndef ADZI_OPTIM_RMSPROP_H
#define ADZI_OPTIM_RMSPROP_H

#include "adze/optim/type.h"

/** The states, in their order. */
enum { ADZI_RMS_SQUARE, ADZI_RMS_BUFFER, ADZI_RMS_MEAN };

/** The numbers of the formula in rmsprop.kernel.c. FRESH is 1 - alpha. */
ADZ_C_TEXT(
    adzi_rms_names, enum { ADZI_RMS_LR, ADZI_RMS_ALPHA, ADZI_RMS_FRESH, ADZI_RMS_EPS,
                        ADZI_RMS_MOMENTUM, ADZI_RMS_DECAY, ADZI_RMS_SIGN, ADZI_RMS_NUMBERS };)

#endif
