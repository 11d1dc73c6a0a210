/* Arguments of the kernel topk. A unit is one slice along dim, numbered outer * inner_size + inner.
 */
#ifndef ADZI_OPS_ORDER_TOPK_KERNEL_H
#define ADZI_OPS_ORDER_TOPK_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

typedef struct adzi_topk_args {
    const void *x;    /* [outer, n, inner] */
    void *values;     /* [outer, k, inner] */
    int64_t *indices; /* [outer, k, inner], the coordinates along dim */
    int64_t n, k, inner;
    bool largest;
} adzi_topk_args;

ADZI_ADDRESSES(adzi_topk_args, x, values, indices);

#endif
