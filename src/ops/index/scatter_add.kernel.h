/* Arguments of the kernels scatter_add. A unit is one slice of the index along dim. */
#ifndef ADZI_OPS_INDEX_SCATTER_ADD_KERNEL_H
#define ADZI_OPS_INDEX_SCATTER_ADD_KERNEL_H

#include "adze/tensor.h"
#include "base/threads/addresses.h"

enum {
    ADZI_SCATTER_SLICE = 1024
}; /* the most elements of a slice of y in scatter_add_slice:
      8 KiB of f64 sums on the stack */

typedef struct adzi_scatter_args {
    void *y;
    const void *from;
    const int64_t *index;
    int rank;                    /* of the index without dim: the dimensions of a slice's number */
    int64_t n;                   /* elements of a slice of the index */
    int64_t length;              /* elements of a slice of y */
    int64_t sizes[ADZ_MAX_RANK]; /* of the index, without dim */
    int64_t y_strides[ADZ_MAX_RANK], from_strides[ADZ_MAX_RANK], index_strides[ADZ_MAX_RANK];
    int64_t y_along, from_along, index_along; /* strides along dim */
} adzi_scatter_args;

ADZI_ADDRESSES(adzi_scatter_args, y, from, index);

#endif
