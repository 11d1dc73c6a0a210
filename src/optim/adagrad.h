/* The numbers of Adagrad, for its kernel. */
#ifndef ADZI_OPTIM_ADAGRAD_H
#define ADZI_OPTIM_ADAGRAD_H

#include "adze/optim/type.h"

/** The numbers of the formula in adagrad.kernel.c. */
ADZ_C_TEXT(adzi_adagrad_names, enum { ADZI_ADAGRAD_LR, ADZI_ADAGRAD_EPS, ADZI_ADAGRAD_DECAY,
                                   ADZI_ADAGRAD_SIGN, ADZI_ADAGRAD_NUMBERS };)

#endif
