/* Arguments of the kernels scatter_add; units are lanes of the index. */
#ifndef ADZI_AUTOGRAD_OPS_INDEX_SCATTER_ADD_KERNEL_H
#define ADZI_AUTOGRAD_OPS_INDEX_SCATTER_ADD_KERNEL_H

#include "adze/tensor.h"

enum { ADZI_SCATTER_LANE = 1024 }; /* elements of a lane of y that scatter_add_lane takes */

typedef struct adzi_scatter_args {
    void *y;
    const void *from;
    const int64_t *index;
    int rank;                    /* of a lane's place: dim left out */
    int64_t n;                   /* elements of a lane */
    int64_t length;              /* of a lane of y */
    int64_t sizes[ADZ_MAX_RANK]; /* of the index */
    int64_t y_strides[ADZ_MAX_RANK], from_strides[ADZ_MAX_RANK], index_strides[ADZ_MAX_RANK];
    int64_t y_along, from_along, index_along; /* strides along dim */
} adzi_scatter_args;

#endif
