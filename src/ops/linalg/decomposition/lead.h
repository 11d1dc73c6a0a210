/* The leading dimensions of a batch as kernels see them. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_LEAD_H
#define ADZI_OPS_LINALG_DECOMPOSITION_LEAD_H

#include <stdint.h>

#include "adze/tensor.h"

/** The leading sizes of a batch, and the elements from one entry to the next. A stride of 0 repeats
 * a matrix. */
typedef struct adzi_lead {
    int64_t rank;
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
} adzi_lead;

/** The number of elements before item i. */
static inline int64_t adzi_lead_offset(const adzi_lead *lead, int64_t i)
{
    int64_t offset = 0;
    for (int64_t d = lead->rank - 1; d >= 0; --d) {
        offset += i % lead->sizes[d] * lead->strides[d];
        i /= lead->sizes[d];
    }
    return offset;
}

#endif
