/* Arguments of the kernels gather; units are elements of y in order. */
#ifndef ADZI_AUTOGRAD_OPS_INDEX_GATHER_KERNEL_H
#define ADZI_AUTOGRAD_OPS_INDEX_GATHER_KERNEL_H

#include "adze/tensor.h"

typedef struct adzi_gather_args {
    const char *x;
    char *y;
    const int64_t *index;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];   /* of the index and of y, both contiguous */
    int64_t strides[ADZ_MAX_RANK]; /* of x; 0 along the dimension that the index counts along */
    int64_t along;                 /* of x along that one */
} adzi_gather_args;

#endif
