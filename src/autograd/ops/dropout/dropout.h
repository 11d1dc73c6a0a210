/* Dropout, for operators that contain one. */
#ifndef ADZI_AUTOGRAD_OPS_DROPOUT_DROPOUT_H
#define ADZI_AUTOGRAD_OPS_DROPOUT_DROPOUT_H

#include "autograd/op.h"

/** x under a mask that was drawn before, on the tape: bit k of kept[g], i64, says whether element
 * 64 g + k stays, divided by 1 - p. */
adz_tensor *adzi_dropout_again(adz_tensor *x, double p, adz_tensor *kept);

#endif
