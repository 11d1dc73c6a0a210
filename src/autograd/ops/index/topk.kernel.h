/* Arguments of the kernel topk; units are lanes along one dimension. */
#ifndef ADZI_AUTOGRAD_OPS_INDEX_TOPK_KERNEL_H
#define ADZI_AUTOGRAD_OPS_INDEX_TOPK_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct adzi_topk_args {
    const void *x;   /* [outer, n, inner] */
    void *values;    /* [outer, k, inner] */
    int64_t *places; /* likewise */
    int64_t n, k, inner;
    bool largest;
} adzi_topk_args;

#endif
