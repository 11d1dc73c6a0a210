/* Kernel of index_put: rows of values replace rows of y, or are added to them.
 *
 * A unit is one position of the order, in which positions with the same row are neighbours. The
 * first of them does the work of all, so each row of y has one writer, and threads change no bit.
 * If rows are replaced, the last value wins. Sums of floats run in f64, in the order of the
 * values. */
#ifndef elem
#include <string.h>

#include "ops/index/rows.kernel.h"

#define THIS_FILE "ops/index/index_put.kernel.c"
#include "tensor/kernel/each_type.h"
#else

#if ELEM_IS_FLOAT
#define SUM_OF double
#else
#define SUM_OF uint64_t /* wraps */
#endif

/* Adds the rows of values at positions p .. end-1 to one row of y. */
static inline void KERNEL(put_sum)(const adzi_put_args *args, elem *y, int64_t p, int64_t end)
{
    for (int64_t first = 0; first < args->row; first += ADZI_ROWS_BLOCK) {
        int64_t width = args->row - first;
        width = width < ADZI_ROWS_BLOCK ? width : ADZI_ROWS_BLOCK;
        SUM_OF sum[ADZI_ROWS_BLOCK];
        for (int64_t i = 0; i < width; ++i) {
            sum[i] = (SUM_OF)y[first + i];
        }
        for (int64_t k = p; k < end; ++k) {
            const elem *from = (const elem *)args->values + args->order[k] * args->row + first;
            for (int64_t i = 0; i < width; ++i) {
                sum[i] += (SUM_OF)from[i];
            }
        }
        for (int64_t i = 0; i < width; ++i) {
#if ELEM_IS_BOOL
            y[first + i] = sum[i] != 0;
#else
            y[first + i] = (elem)sum[i];
#endif
        }
    }
}

void KERNEL(index_put)(const void *block, int64_t begin, int64_t end);
void KERNEL(index_put)(const void *block, int64_t begin, int64_t end)
{
    const adzi_put_args *args = block;
    const size_t bytes = (size_t)args->row * sizeof(elem);
    for (int64_t p = begin; p < end; ++p) {
        if (!adzi_put_begins(args, p)) {
            continue;
        }
        const int64_t last = adzi_put_end(args, p) - 1;
        elem *y = (elem *)args->y + args->rows[args->order[p]] * args->row;
        if (args->accumulate) {
            KERNEL(put_sum)(args, y, p, last + 1);
        } else {
            memcpy(y, (const elem *)args->values + args->order[last] * args->row, bytes);
        }
    }
}

#undef SUM_OF
#endif
