/* Kernels of one direction of an RNN layer; see Note [Products of one step] in recurrent_layer.h.
 *
 *     h_t = f(gates + h_(t-1) W^T + bias)        W = weight_hh[H, H], gates hold x_t's part
 *     f is tanh or relu
 *
 *     dh = dy + dgates_(t+1) W,   dgates = dh f',   f' = 1 - h_t^2, or 1 where h_t > 0
 *
 * Shapes of one step for B batch rows: all [B, H]. In the forward, `gates` and `h` are the row of y
 * of the step: it holds the part of x until the cell is computed. */
#ifndef elem
#include "ops/recurrent/recurrent_groups.h"

#define FORWARD  rnn_step
#define BACKWARD rnn_step_back
#define GATES    1
#define SAVED    1
#define CARRIES  0

#define THIS_FILE "ops/recurrent/rnn_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "ops/recurrent/recurrent_tiles.h"

/* The cell of one batch row. relu(NaN) is NaN. Loops run over VW columns, padding included, so that
 * they have a constant length; only the first `lanes` are stored. */
INLINE void KERNEL(cell)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    elem (*sums)[MOST_ROWS][VW], int r, elem *h)
{
    const int64_t n = a->hidden, at = row * n + j0;
    elem bias[VW] = { 0 };
    KERNEL(take)(h, (const elem *)a->gates + at, lanes);
    if (a->bias != NULL) {
        KERNEL(take)(bias, (const elem *)a->bias + j0, lanes);
    }
    for (int j = 0; j < VW; ++j) {
        h[j] += sums[0][r][j] + bias[j];
    }
    if (a->relu) {
        for (int j = 0; j < VW; ++j) {
            h[j] = h[j] <= 0 ? ELEM(0) : h[j];
        }
    } else {
        for (int j = 0; j < VW; ++j) {
            h[j] = VMATH(tanh)(h[j]);
        }
    }
    KERNEL(give)((elem *)a->h + at, h, lanes);
}

/* The backward of the cell of one batch row. Both derivatives follow from h_t. */
INLINE void KERNEL(cell_back)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    const elem *dh, elem (*d)[MOST_ROWS][VW], int r, elem *carry)
{
    const int64_t at = row * a->hidden + j0;
    elem h[VW];
    (void)carry;
    KERNEL(take)(h, (const elem *)a->h + at, lanes);
    for (int j = 0; j < VW; ++j) {
        const elem slope = !a->relu ? ELEM(1) - h[j] * h[j] : h[j] <= 0 ? ELEM(0) : ELEM(1);
        d[0][r][j] = dh[j] * slope;
    }
    KERNEL(give)((elem *)a->dgates + at, d[0][r], lanes);
}

#include "ops/recurrent/recurrent_steps.h"

#endif
