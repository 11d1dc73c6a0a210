/* Kernel of linear_recurrence.
 *
 *     s_t = b_t + a_t s_(t-1)
 *
 * A unit is one slice along the dimension of time (ops/slices.h). Steps of a slice depend on
 * each other, so loops run over up to 256 neighbouring slices, whose elements of one step are
 * contiguous. Their states are kept in a buffer of 256 elements, at most 2 KiB. Every element is
 * computed by the same operations whatever its slice, so bits do not depend on the threads. The
 * derivative is a recurrence in the other direction, for which `reverse` walks time backwards.
 */
#ifndef elem
#define THIS_FILE "ops/cumulative/linear_recurrence.kernel.c"
#include "ops/slices.h"
#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(columns) = 256 }; /* neighbouring slices that are walked together */

/* in: a, b, and s0 with one element per slice, or NULL for zeros. */
void KERNEL(linear_recurrence)(const void *block, int64_t begin, int64_t end);
void KERNEL(linear_recurrence)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *args = block;
    const int64_t n = args->n, inner = args->inner;
    const elem *s0 = (const elem *)(const void *)args->in[2];
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t start = begin / inner * n * inner + column;
        const elem *a = (const elem *)(const void *)args->in[0] + start;
        const elem *b = (const elem *)(const void *)args->in[1] + start;
        elem *restrict s = (elem *)(void *)args->out + start;
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
