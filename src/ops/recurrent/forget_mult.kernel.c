/* Kernels of forget_mult, the recurrence of a quasi-recurrent network, and of its derivative.
 *
 *     h_t = f_t z_t + (1 - f_t) h_(t-1)
 *
 *     g_t  = dh_t + (1 - f_(t+1)) g_(t+1)        the gradient of h_t over all later steps
 *     dz_t = f_t g_t,   df_t = g_t (z_t - h_(t-1)),   dh0 = (1 - f_1) g_1
 *
 * A unit is one slice along the dimension of time (ops/slices.h). Steps of a slice depend on
 * each other, so loops run over up to 256 neighbouring slices, whose elements of one step are
 * contiguous. The states of these slices are kept in a buffer of 256 elements, at most 2 KiB.
 * Every element is computed by the same operations whatever its slice, so bits do not depend on how
 * slices are cut into threads.
 */
#ifndef elem
#define THIS_FILE "ops/recurrent/forget_mult.kernel.c"
#include "ops/recurrent/forget_mult.h"
#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(columns) = 256 }; /* neighbouring slices that are walked together */

/* in: z, f, and h0 with one element per slice, or NULL for zeros. With `reverse`, time runs from
 * the last element of a slice to the first. */
void KERNEL(forget_mult)(const void *block, int64_t begin, int64_t end);
void KERNEL(forget_mult)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *a = &((const adzi_forget_mult_args *)block)->slices;
    const int64_t n = a->n, inner = a->inner;
    const elem *h0 = (const elem *)(const void *)a->in[2];
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t start = begin / inner * n * inner + column;
        const elem *f = (const elem *)(const void *)a->in[1] + start;
        const elem *z = (const elem *)(const void *)a->in[0] + start;
        elem *restrict h = (elem *)(void *)a->out + start;
        elem state[KERNEL(columns)] = { 0 };
        for (int64_t j = 0; j < w && h0 != NULL; ++j) {
            state[j] = h0[begin + j];
        }
        for (int64_t i = 0; i < n; ++i) {
            int64_t row = (a->reverse ? n - 1 - i : i) * inner;
            for (int64_t j = 0; j < w; ++j) {
                state[j] = f[row + j] * z[row + j] + (ELEM(1) - f[row + j]) * state[j];
                h[row + j] = state[j];
            }
        }
    }
}

/* Walks time backwards. `before` points to h_(t-1): the row that lies `towards` from the row of
 * step t, or h0, or zeros. out is the saved h of the forward. */
void KERNEL(forget_mult_backward)(const void *block, int64_t begin, int64_t end);
void KERNEL(forget_mult_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_forget_mult_args *args = block;
    const adzi_slices_args *a = &args->slices;
    const int64_t n = a->n, inner = a->inner, towards = a->reverse ? inner : -inner;
    const elem *h0 = (const elem *)(const void *)a->in[2];
    static const elem none[KERNEL(columns)] = { 0 };
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t start = begin / inner * n * inner + column;
        const elem *f = (const elem *)(const void *)a->in[1] + start;
        const elem *z = (const elem *)(const void *)a->in[0] + start;
        const elem *h = (const elem *)(const void *)a->out + start,
                   *dy = (const elem *)args->dy + start;
        elem *restrict df = (elem *)args->df + start, *restrict dz = (elem *)args->dz + start;
        elem state[KERNEL(columns)] = { 0 }; /* (1 - f_(t+1)) g_(t+1) */
        for (int64_t i = n - 1; i >= 0; --i) {
            int64_t row = (a->reverse ? n - 1 - i : i) * inner;
            const elem *before = i > 0 ? h + row + towards : h0 != NULL ? h0 + begin : none;
            for (int64_t j = 0; j < w; ++j) {
                const elem g = dy[row + j] + state[j], gate = f[row + j];
                dz[row + j] = gate * g;
                df[row + j] = g * (z[row + j] - before[j]);
                state[j] = (ELEM(1) - gate) * g;
            }
        }
        for (int64_t j = 0; j < w && args->dh0 != NULL; ++j) {
            ((elem *)args->dh0)[begin + j] = state[j];
        }
    }
}

#endif
