/* Arguments of the kernels of searchsorted. */
#ifndef ADZI_OPS_ORDER_SEARCHSORTED_KERNEL_H
#define ADZI_OPS_ORDER_SEARCHSORTED_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

typedef struct adzi_search_args {
    const void *sorted; /* [slices, n] */
    const void *values; /* [slices, per], or any number of values if there is one slice */
    int64_t *y;         /* shaped like the values */
    int64_t n;          /* elements of a slice */
    int64_t per;        /* values that are searched for in one slice */
    bool right;         /* behind the elements that equal the value, and not before them */
} adzi_search_args;

ADZI_ADDRESSES(adzi_search_args, sorted, values, y);

/** Arguments of search_ascends, which has one unit. */
typedef struct adzi_ascends_args {
    const void *sorted; /* [slices, n] */
    int64_t slices, n;
    int64_t *bad; /* the result: the number of the first element that is less than the one before
                     it in its slice, or -1 */
} adzi_ascends_args;

ADZI_ADDRESSES(adzi_ascends_args, sorted, bad);

#endif
