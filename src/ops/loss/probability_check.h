/* The range check of binary_cross_entropy, shared by the operator and its kernel. */
#ifndef ADZI_OPS_LOSS_PROBABILITY_CHECK_H
#define ADZI_OPS_LOSS_PROBABILITY_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/threads/addresses.h"

/** Arguments of the kernel probability_check; units are elements. */
typedef struct adzi_probability_check {
    const void *x;
    atomic_bool *outside; /* set when an element is outside [0, 1] or NaN */
} adzi_probability_check;

ADZI_ADDRESSES(adzi_probability_check, x, outside);

#endif
