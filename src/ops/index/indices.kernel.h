/* Arguments of the kernel indices_within, which has one unit. */
#ifndef ADZI_OPS_INDEX_INDICES_KERNEL_H
#define ADZI_OPS_INDEX_INDICES_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

typedef struct adzi_within_args {
    const int64_t *index;
    int64_t n; /* indices */
    int64_t size;
    bool *within; /* the result: all indices are in 0 .. size-1 */
} adzi_within_args;

ADZI_ADDRESSES(adzi_within_args, index, within);

#endif
