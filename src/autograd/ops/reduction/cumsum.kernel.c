#ifndef elem
#define THIS_FILE "autograd/ops/reduction/cumsum.kernel.c"
#include "autograd/ops/lanes.h"
#include "tensor/kernel/each_type.h"
#else

/* f32 is summed in f64, integers in 64 bits (unsigned: overflow wraps). */
#undef SUM
#undef OUT
#if ELEM_IS_FLOAT
#define SUM double
#define OUT elem
#else
#define SUM uint64_t
#define OUT int64_t
#endif

enum { KERNEL(columns) = 256 };

/* Neighbouring lanes go together; where lanes lie in rows each goes alone. */
void KERNEL(cumsum)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    const int64_t n = a->n, inner = a->inner;
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t place = begin / inner * n * inner + column;
        const elem *x = (const elem *)(const void *)a->in[0] + place;
        OUT *y = (OUT *)(void *)a->out + place;
        if (w == 1) { /* a lane that goes alone has its sum in a register */
            SUM alone = 0;
            for (int64_t i = 0; i < n; ++i) {
                int64_t row = (a->reverse ? n - 1 - i : i) * inner;
                alone += (SUM)x[row];
                y[row] = (OUT)alone;
            }
            continue;
        }
        SUM sum[KERNEL(columns)] = { 0 };
        for (int64_t i = 0; i < n; ++i) {
            int64_t row = (a->reverse ? n - 1 - i : i) * inner;
            for (int64_t j = 0; j < w; ++j) {
                sum[j] += (SUM)x[row + j];
                y[row + j] = (OUT)sum[j];
            }
        }
    }
}

#endif
