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
#define GATES    4
#define SAVED    4
#define CARRIES  0

#define THIS_FILE "ops/recurrent/lstm_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "ops/recurrent/recurrent_tiles.h"

/* The cell of one batch row. The activated gates replace the pre-activations in `gates`, for the
 * backward. Loops run over VW columns, padding included, so that they have a constant length; only
 * the first `lanes` are stored. */
INLINE void KERNEL(cell)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    elem (*sums)[MOST_ROWS][VW], int r, elem *h)
{
    const int64_t n = a->hidden;
    elem *gates = (elem *)a->gates + row * GATES * n + j0;
    const elem *bias = a->bias;
    elem s[GATES][VW], part[VW], c[VW];
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(take)(part, gates + gate * n, lanes);
        for (int j = 0; j < VW; ++j) {
            s[gate][j] = part[j] + sums[gate][r][j];
        }
        if (bias != NULL) {
            KERNEL(take)(part, bias + gate * n + j0, lanes);
            for (int j = 0; j < VW; ++j) {
                s[gate][j] += part[j];
            }
        }
    }
    KERNEL(take)(c, (const elem *)state_before(a, row) + row * n + j0, lanes);
    for (int j = 0; j < VW; ++j) {
        s[0][j] = VMATH(sigmoid)(s[0][j]);
        s[1][j] = VMATH(sigmoid)(s[1][j]);
        s[2][j] = VMATH(tanh)(s[2][j]);
        s[3][j] = VMATH(sigmoid)(s[3][j]);
        c[j] = s[1][j] * c[j] + s[0][j] * s[2][j];
        h[j] = s[3][j] * VMATH(tanh)(c[j]);
    }
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(give)(gates + gate * n, s[gate], lanes);
    }
    KERNEL(give)((elem *)a->c + row * n + j0, c, lanes);
    KERNEL(give)((elem *)a->h + row * n + j0, h, lanes);
}

/* The backward of the cell of one batch row. Replaces dc by dc_(t-1). tanh(c_t) is computed again,
 * because only c_t is saved. The derivatives of sigmoid and tanh need no more than the saved
 * gates. */
INLINE void KERNEL(cell_back)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    const elem *dh, elem (*d)[MOST_ROWS][VW], int r, elem *carry)
{
    const int64_t n = a->hidden, at = row * n + j0;
    elem s[GATES][VW], c[VW], before[VW], dc[VW];
    (void)carry;
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(take)(s[gate], (const elem *)a->gates + row * GATES * n + gate * n + j0, lanes);
    }
    KERNEL(take)(c, (const elem *)a->c + at, lanes);
    KERNEL(take)(before, (const elem *)state_before(a, row) + at, lanes);
    KERNEL(take)(dc, (elem *)a->dc + at, lanes);
    for (int j = 0; j < VW; ++j) {
        const elem i = s[0][j], f = s[1][j], g = s[2][j], o = s[3][j], out = VMATH(tanh)(c[j]);
        /* The gradient of c_t: from later steps by dc, and from h_t. */
        const elem cell = dc[j] + dh[j] * o * (ELEM(1) - out * out);
        d[0][r][j] = cell * g * i * (ELEM(1) - i);
        d[1][r][j] = cell * before[j] * f * (ELEM(1) - f);
        d[2][r][j] = cell * i * (ELEM(1) - g * g);
        d[3][r][j] = dh[j] * out * o * (ELEM(1) - o);
        dc[j] = cell * f;
    }
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(give)((elem *)a->dgates + row * GATES * n + gate * n + j0, d[gate][r], lanes);
    }
    KERNEL(give)((elem *)a->dc + at, dc, lanes);
}

#include "ops/recurrent/recurrent_steps.h"

#endif
