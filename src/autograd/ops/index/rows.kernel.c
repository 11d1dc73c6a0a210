#ifndef elem
#define THIS_FILE "autograd/ops/index/rows.kernel.c"
#include <string.h>

#include "autograd/ops/index/rows.kernel.h"
#include "tensor/kernel/each_float.h"
#else

/* x[o, v, :] = sum of y[o, i, :] over the places i of row v, in their order. */
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
