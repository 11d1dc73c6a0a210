/* Kernel of cumsum, the sums of a slice from its first element to each.
 *
 *     y_i = x_0 + ... + x_i,   or x_i + ... + x_(n-1) with `reverse`, which is the derivative
 *
 * A unit is one slice along a dimension (ops/slices.h). Steps of a slice depend on each
 * other, so loops run over up to 256 neighbouring slices, whose elements of one step are
 * contiguous. Slices that are rows (inner = 1) go one by one. Each sum is taken in the order of its
 * slice, so the bits do not depend on how slices are cut into threads.
 */
#ifndef elem
#define THIS_FILE "ops/cumulative/cumsum.kernel.c"
#include "ops/slices.h"
#include "tensor/kernel/each_type.h"
#else

#include "tensor/kernel/running.kernel.h"

enum { KERNEL(columns) = 256 }; /* neighbouring slices that are walked together: 2 KiB of sums */

void KERNEL(cumsum)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *a = block;
    const int64_t n = a->n, inner = a->inner;
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t position = begin / inner * n * inner + column;
        const elem *x = (const elem *)(const void *)a->in[0] + position;
        OUT *y = (OUT *)(void *)a->out + position;
        if (w == 1) { /* a single slice: its sum stays in a register */
            RUNNING alone = 0;
            for (int64_t i = 0; i < n; ++i) {
                int64_t row = (a->reverse ? n - 1 - i : i) * inner;
                alone += (RUNNING)x[row];
                y[row] = (OUT)alone;
            }
            continue;
        }
        RUNNING sum[KERNEL(columns)] = { 0 };
        for (int64_t i = 0; i < n; ++i) {
            int64_t row = (a->reverse ? n - 1 - i : i) * inner;
            for (int64_t j = 0; j < w; ++j) {
                sum[j] += (RUNNING)x[row + j];
                y[row + j] = (OUT)sum[j];
            }
        }
    }
}

#endif
