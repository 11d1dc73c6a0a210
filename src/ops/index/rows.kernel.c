/* Sums of rows of y that belong to the same row of x: the gradient of index_select and embedding.
 *
 *     x[o, v, :] = sum over k in starts[v] .. starts[v+1]-1 of y[o, order[k], :]
 *
 * `order` lists the positions of y sorted by their row v, and starts[v] says where those of row v
 * begin. A unit is a block of 64 elements of one row of x. Each block has one writer, so threads
 * need no atomics. Its sums stay in a buffer of 64 f64, and positions are added in their order, so
 * the bits do not depend on the number of threads.
 */
#ifndef elem
#define THIS_FILE "ops/index/rows.kernel.c"
#include <string.h>

#include "ops/index/rows.kernel.h"
#include "tensor/kernel/each_float.h"
#else

/* Rows of x that no position belongs to become 0. */
void KERNEL(rows_sum)(const void *block, int64_t begin, int64_t end);
void KERNEL(rows_sum)(const void *block, int64_t begin, int64_t end)
{
    const adzi_rows_sum_args *args = block;
    for (int64_t unit = begin; unit < end; ++unit) {
        int64_t r = unit / args->blocks, first = unit % args->blocks * ADZI_ROWS_BLOCK;
        int64_t o = r / args->size, v = r % args->size;
        int64_t width = args->row - first;
        width = width < ADZI_ROWS_BLOCK ? width : ADZI_ROWS_BLOCK;
        elem *x = (elem *)args->x + r * args->row + first;
        const elem *y = (const elem *)args->y + o * args->n * args->row + first;
        double sum[ADZI_ROWS_BLOCK] = { 0 };
        if (args->starts[v] == args->starts[v + 1]) {
            memset(x, 0, (size_t)width * sizeof *x);
            continue;
        }
        for (int64_t k = args->starts[v]; k < args->starts[v + 1]; ++k) {
            const elem *from = y + args->order[k] * args->row;
            for (int64_t i = 0; i < width; ++i) {
                sum[i] += (double)from[i];
            }
        }
        for (int64_t i = 0; i < width; ++i) {
            x[i] = (elem)sum[i];
        }
    }
}

#endif
