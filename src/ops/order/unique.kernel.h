/* Arguments of the kernel sort_slices, which has one unit. */
#ifndef ADZI_OPS_ORDER_UNIQUE_KERNEL_H
#define ADZI_OPS_ORDER_UNIQUE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

typedef struct adzi_slices_args {
    const void *x; /* [n, m] */
    int64_t n, m;
    int64_t *order;   /* [n], the result: the numbers of the slices in ascending order */
    int64_t *scratch; /* [n] */
    bool *begins;     /* [n], the result: slice order[i] differs from slice order[i - 1] */
} adzi_slices_args;

ADZI_ADDRESSES(adzi_slices_args, x, order, scratch, begins);

#endif
