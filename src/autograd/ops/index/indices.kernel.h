/* What the kernel indices_within is told and tells. */
#ifndef ADZI_AUTOGRAD_OPS_INDEX_INDICES_KERNEL_H
#define ADZI_AUTOGRAD_OPS_INDEX_INDICES_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct adzi_within_args {
    const int64_t *index;
    int64_t size;
    bool *within; /* set to whether all lie in 0 .. size-1 */
} adzi_within_args;

#endif
