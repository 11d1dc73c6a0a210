/* Arguments of the kernel sort_subtensors, which has one unit. */
#ifndef ADZI_OPS_ORDER_UNIQUE_KERNEL_H
#define ADZI_OPS_ORDER_UNIQUE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

typedef struct adzi_subtensors_args {
    const void *x; /* [n, m] */
    int64_t n, m;
    int64_t *order;   /* [n], the result: the numbers of the subtensors in ascending order */
    int64_t *scratch; /* [n] */
    bool *begins;     /* [n], the result: subtensor order[i] differs from subtensor order[i - 1] */
} adzi_subtensors_args;

ADZI_ADDRESSES(adzi_subtensors_args, x, order, scratch, begins);

#endif
