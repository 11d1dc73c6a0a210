/* Kernels of one direction of an LSTM layer; see Note [Products of one step] in recurrent_layer.h.
 *
 *     i, f, g, o = gates + h_(t-1) W^T + bias        W = weight_hh[4H, H], gates hold x_t's part
 *     i, f, o = sigmoid of themselves,   g = tanh(g)
 *     c_t = f c_(t-1) + i g,   h_t = o tanh(c_t)
 *
 *     dh = dy + dgates_(t+1) W,   dc += dh o (1 - tanh(c_t)^2)
 *     di = dc g i (1 - i),   df = dc c_(t-1) f (1 - f),   dg = dc i (1 - g^2)
 *     do = dh tanh(c_t) o (1 - o),   dc_(t-1) = dc f
 *
 * Shapes of one step for B batch rows: gates and dgates [B, 4H] with the four gates of a row one
 * after another; h, c, dh, dc and dy [B, H]. */
#ifndef elem
#include "ops/recurrent/recurrent_groups.h"

#define FORWARD  lstm_step
#define BACKWARD lstm_step_back
#define STATES   2
#define GATES    4
#define SAVED    4
#define CARRIES  0

#define THIS_FILE "ops/recurrent/lstm_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "ops/recurrent/recurrent_tiles.h"

/* The derivatives of sigmoid and tanh need no more than the saved gates. tanh(c_t) is computed
 * again in the backward, because only c_t is saved. */
INLINE void KERNEL(cell)(CELL_VALUES *v)
{
    for (int gate = 0; gate < GATES; ++gate) {
        for (int j = 0; j < VW; ++j) {
            v->gates[gate][j] += v->product[gate][j];
            v->gates[gate][j] += v->bias[gate][j];
        }
    }
    for (int j = 0; j < VW; ++j) {
        const elem i = VMATH(sigmoid)(v->gates[0][j]), f = VMATH(sigmoid)(v->gates[1][j]);
        const elem g = VMATH(tanh)(v->gates[2][j]), o = VMATH(sigmoid)(v->gates[3][j]);
        v->gates[0][j] = i;
        v->gates[1][j] = f;
        v->gates[2][j] = g;
        v->gates[3][j] = o;
        v->c[j] = f * v->before[j] + i * g;
        v->h[j] = o * VMATH(tanh)(v->c[j]);
    }
}

INLINE void KERNEL(cell_back)(CELL_VALUES *v)
{
    for (int j = 0; j < VW; ++j) {
        const elem i = v->gates[0][j], f = v->gates[1][j], g = v->gates[2][j], o = v->gates[3][j];
        const elem dh = v->dh[j], out = VMATH(tanh)(v->c[j]);
        /* The gradient of c_t: from later steps by dc, and from h_t. */
        const elem dc = v->dc[j] + dh * o * (ELEM(1) - out * out);
        v->d[0][j] = dc * g * i * (ELEM(1) - i);
        v->d[1][j] = dc * v->before[j] * f * (ELEM(1) - f);
        v->d[2][j] = dc * i * (ELEM(1) - g * g);
        v->d[3][j] = dh * out * o * (ELEM(1) - o);
        v->dc[j] = dc * f;
    }
}

#include "ops/recurrent/recurrent_steps.h"

#endif
