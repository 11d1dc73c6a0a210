#ifndef elem
#define THIS_FILE "autograd/ops/recurrent/forget_mult.kernel.c"
#include "autograd/ops/recurrent/forget_mult.h"
#include "tensor/kernel/each_float.h"
#else

/* Neighbouring lanes go together, this many at a time. */
enum { KERNEL(columns) = 256 };

void KERNEL(forget_mult)(const void *block, int64_t begin, int64_t end);
void KERNEL(forget_mult)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = &((const adzi_forget_mult_args *)block)->lanes;
    const int64_t n = a->n, inner = a->inner;
    const elem *h0 = (const elem *)(const void *)a->in[2];
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t place = begin / inner * n * inner + column;
        const elem *f = (const elem *)(const void *)a->in[1] + place;
        const elem *z = (const elem *)(const void *)a->in[0] + place;
        elem *restrict h = (elem *)(void *)a->out + place;
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

/* `h` of a step's predecessor: NULL before the first step means zeros. */
void KERNEL(forget_mult_backward)(const void *block, int64_t begin, int64_t end);
void KERNEL(forget_mult_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_forget_mult_args *args = block;
    const adzi_lanes_args *a = &args->lanes;
    const int64_t n = a->n, inner = a->inner, towards = a->reverse ? inner : -inner;
    const elem *h0 = (const elem *)(const void *)a->in[2];
    static const elem none[KERNEL(columns)] = { 0 };
    for (int64_t w; begin < end; begin += w) {
        int64_t column = begin % inner;
        w = inner - column < end - begin ? inner - column : end - begin;
        w = w < KERNEL(columns) ? w : KERNEL(columns);
        int64_t place = begin / inner * n * inner + column;
        const elem *f = (const elem *)(const void *)a->in[1] + place;
        const elem *z = (const elem *)(const void *)a->in[0] + place;
        const elem *h = (const elem *)(const void *)a->out + place,
                   *dy = (const elem *)args->dy + place;
        elem *restrict df = (elem *)args->df + place, *restrict dz = (elem *)args->dz + place;
        elem state[KERNEL(columns)] = { 0 }; /* what later steps hand back */
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
