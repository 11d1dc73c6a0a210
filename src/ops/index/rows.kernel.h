/* Arguments of the kernels that sum rows: rows_sum and index_put. */
#ifndef ADZI_OPS_INDEX_ROWS_KERNEL_H
#define ADZI_OPS_INDEX_ROWS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

enum { ADZI_ROWS_BLOCK = 64 }; /* elements of a row whose sums are kept: 512 bytes of f64 */

/** A unit is a block of ADZI_ROWS_BLOCK elements of one row of x. */
typedef struct adzi_rows_sum_args {
    const void *y;                 /* [outer, n, row] */
    void *x;                       /* [outer, size, row] */
    const int64_t *starts, *order; /* [size + 1]; [n], positions in y sorted by their row of x */
    int64_t n, size, row, blocks;  /* blocks: units per row of x, row / 64 rounded up */
} adzi_rows_sum_args;

ADZI_ADDRESSES(adzi_rows_sum_args, y, x, starts, order);

/** A unit is one position of `order`. */
typedef struct adzi_put_args {
    void *y;              /* [rows of y, row] */
    const void *values;   /* [n, row] */
    const int64_t *rows;  /* [n], the row of y for each row of values */
    const int64_t *order; /* [n], positions in rows, sorted by the row and then by position */
    int64_t n, row;       /* row: elements of one */
    bool accumulate;      /* add, and do not replace */
} adzi_put_args;

ADZI_ADDRESSES(adzi_put_args, y, values, rows, order);

/** Whether position p of the order is the first one with its row. */
static inline bool adzi_put_begins(const adzi_put_args *args, int64_t p)
{
    return p == 0 || args->rows[args->order[p]] != args->rows[args->order[p - 1]];
}

/** The position behind the last one with the row of position p. */
static inline int64_t adzi_put_end(const adzi_put_args *args, int64_t p)
{
    const int64_t row = args->rows[args->order[p]];
    while (p < args->n && args->rows[args->order[p]] == row) {
        ++p;
    }
    return p;
}

#endif
