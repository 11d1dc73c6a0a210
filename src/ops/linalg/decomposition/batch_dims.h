/* The leading dimensions of a batch as kernels see them. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_BATCH_DIMS_H
#define ADZI_OPS_LINALG_DECOMPOSITION_BATCH_DIMS_H

#include <stdint.h>

#include "adze/tensor.h"

/** The leading sizes of a batch, and the elements from one entry to the next. A stride of 0 repeats
 * a matrix. */
typedef struct adzi_batch_dims {
    int64_t rank;
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
} adzi_batch_dims;

/** The number of elements before item i. */
static inline int64_t adzi_batch_offset(const adzi_batch_dims *dims, int64_t i)
{
    int64_t offset = 0;
    for (int64_t d = dims->rank - 1; d >= 0; --d) {
        offset += i % dims->sizes[d] * dims->strides[d];
        i /= dims->sizes[d];
    }
    return offset;
}

#endif
