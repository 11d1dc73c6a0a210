#ifndef elem
#define THIS_FILE "autograd/ops/recurrent/linear_recurrence.kernel.c"
#include "autograd/ops/lanes.h"
#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(columns) = 256 };

/* s_t = b_t + a_t s_(t-1); neighbouring lanes go together. */
void KERNEL(linear_recurrence)(const void *block, int64_t begin, int64_t end);
void KERNEL(linear_recurrence)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *args = block;
    const int64_t n = args->n, inner = args->inner;
    const elem *s0 = (const elem *)(const void *)args->in[2];
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t place = begin / inner * n * inner + column;
        const elem *a = (const elem *)(const void *)args->in[0] + place;
        const elem *b = (const elem *)(const void *)args->in[1] + place;
        elem *restrict s = (elem *)(void *)args->out + place;
        elem state[KERNEL(columns)] = { 0 };
        for (int64_t j = 0; j < w && s0 != NULL; ++j) {
            state[j] = s0[begin + j];
        }
        for (int64_t i = 0; i < n; ++i) {
            int64_t row = (args->reverse ? n - 1 - i : i) * inner;
            for (int64_t j = 0; j < w; ++j) {
                state[j] = b[row + j] + a[row + j] * state[j];
                s[row + j] = state[j];
            }
        }
    }
}

#endif
