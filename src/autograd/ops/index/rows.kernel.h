/* Arguments of the kernel rows_sum; units are blocks of rows of x. */
#ifndef ADZI_AUTOGRAD_OPS_INDEX_ROWS_KERNEL_H
#define ADZI_AUTOGRAD_OPS_INDEX_ROWS_KERNEL_H

#include <stdint.h>

enum { ADZI_ROWS_BLOCK = 64 }; /* elements of a row that are summed at a time */

typedef struct adzi_rows_sum_args {
    const void *y; /* [outer, n, row] */
    void *x;       /* [outer, size, row] */
    const int64_t *starts, *order;
    int64_t n, size, row, blocks;
} adzi_rows_sum_args;

#endif
