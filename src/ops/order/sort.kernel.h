/* Arguments of the kernel sort_slices, which sorts whole slices. A unit is a worker. */
#ifndef ADZI_OPS_ORDER_SORT_KERNEL_H
#define ADZI_OPS_ORDER_SORT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

/* Shorter slices are sorted by the heap of topk, which has no counts to add up. */
enum { ADZI_SORT_LEAST = 65 };

/** The result is topk's for k = n. */
typedef struct adzi_sort_args {
    const void *x;      /* [outer, n, inner] */
    void *values;       /* [outer, n, inner] */
    int64_t *positions; /* [outer, n, inner], the coordinates along dim */
    int64_t n, inner, slices;
    int64_t workers; /* each of them sorts a run of slices */
    bool descending;
    char *scratch; /* 2 n pairs of a key and a position for each worker */
} adzi_sort_args;

ADZI_ADDRESSES(adzi_sort_args, x, values, positions, scratch);

/** Bytes of a pair for elements of `size` bytes. */
static inline int64_t adzi_sort_pair(int64_t size)
{
    return size > 4 ? 16 : 8;
}

#endif
