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
#define STATES   1
#define GATES    1
#define SAVED    1
#define CARRIES  0

#define THIS_FILE "ops/recurrent/rnn_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "ops/recurrent/recurrent_tiles.h"

/* relu(NaN) is NaN. */
INLINE void KERNEL(cell)(CELL_VALUES *v)
{
    for (int j = 0; j < VW; ++j) {
        v->h[j] = v->gates[0][j] + (v->product[0][j] + v->bias[0][j]);
    }
    if (v->relu) {
        for (int j = 0; j < VW; ++j) {
            v->h[j] = v->h[j] <= 0 ? ELEM(0) : v->h[j];
        }
    } else {
        for (int j = 0; j < VW; ++j) {
            v->h[j] = VMATH(tanh)(v->h[j]);
        }
    }
}

/* Both derivatives follow from h_t, which stands for the gates. */
INLINE void KERNEL(cell_back)(CELL_VALUES *v)
{
    for (int j = 0; j < VW; ++j) {
        const elem h = v->gates[0][j];
        const elem slope = !v->relu ? ELEM(1) - h * h : h <= 0 ? ELEM(0) : ELEM(1);
        v->d[0][j] = v->dh[j] * slope;
    }
}

#include "ops/recurrent/recurrent_steps.h"

#endif
