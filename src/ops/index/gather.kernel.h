/* Arguments of the kernels gather. A unit is one element of y, in row-major order. */
#ifndef ADZI_OPS_INDEX_GATHER_KERNEL_H
#define ADZI_OPS_INDEX_GATHER_KERNEL_H

#include "adze/tensor.h"
#include "base/threads/addresses.h"

typedef struct adzi_gather_args {
    const char *x;
    char *y;
    const int64_t *index;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];   /* of the index and of y, both contiguous */
    int64_t strides[ADZ_MAX_RANK]; /* of x in elements; 0 along dim */
    int64_t along;                 /* stride of x along dim, the dimension of the index */
} adzi_gather_args;

ADZI_ADDRESSES(adzi_gather_args, x, y, index);

#endif
