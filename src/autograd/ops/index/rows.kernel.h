/* Arguments of the kernel rows_sum. A unit is a block of ADZI_ROWS_BLOCK elements of one row of x.
 */
#ifndef ADZI_AUTOGRAD_OPS_INDEX_ROWS_KERNEL_H
#define ADZI_AUTOGRAD_OPS_INDEX_ROWS_KERNEL_H

#include <stdint.h>

enum { ADZI_ROWS_BLOCK = 64 }; /* elements of a row whose sums are kept: 512 bytes of f64 */

typedef struct adzi_rows_sum_args {
    const void *y;                 /* [outer, n, row] */
    void *x;                       /* [outer, size, row] */
    const int64_t *starts, *order; /* [size + 1]; [n], positions in y sorted by their row of x */
    int64_t n, size, row, blocks;  /* blocks: units per row of x, row / 64 rounded up */
} adzi_rows_sum_args;

#endif
