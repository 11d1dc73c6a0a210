/* Kernels of one direction of a GRU layer; see Note [Products of one step] in recurrent_layer.h.
 *
 *     r, z, n = gates;   pr, pz, pn = h_(t-1) W^T + bias      W = weight_hh[3H, H], gates hold
 * x_t's r = sigmoid(r + pr),   z = sigmoid(z + pz),   n = tanh(n + r pn) part h_t = n + z (h_(t-1)
 * - n)
 *
 *     dh = dy + [dr, dz, r dn]_(t+1) W + z_(t+1) dh_(t+1)
 *     dz = dh (h_(t-1) - n) z (1 - z),   dn = dh (1 - z) (1 - n^2),   dr = dn pn r (1 - r)
 *
 * Shapes of one step for B batch rows: gates [B, 4H] with r, z, n and pn of a row one after
 * another; dgates [B, 4H] with dr, dz, dn and r dn; h, dh and dy [B, H]. The product of x has the
 * derivatives dr, dz, dn, and the product of h has dr, dz, r dn. */
#ifndef elem
#include "ops/recurrent/recurrent_groups.h"

#define FORWARD  gru_step
#define BACKWARD gru_step_back
#define GATES    3
#define SAVED    4
#define CARRIES  1

#define THIS_FILE "ops/recurrent/gru_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "ops/recurrent/recurrent_tiles.h"

/* The cell of one batch row. r, z, n and pn replace the part of x in `gates`, for the backward.
 * Loops run over VW columns, padding included, so that they have a constant length; only the first
 * `lanes` are stored. */
INLINE void KERNEL(cell)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    elem (*sums)[MOST_ROWS][VW], int r, elem *h)
{
    const int64_t n = a->hidden;
    elem *gates = (elem *)a->gates + row * SAVED * n + j0;
    const elem *bias = a->bias;
    elem s[SAVED][VW], part[GATES][VW] = { { 0 } }, before[VW];
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(take)(s[gate], gates + gate * n, lanes);
        if (bias != NULL) {
            KERNEL(take)(part[gate], bias + gate * n + j0, lanes);
        }
    }
    KERNEL(take)(before, (const elem *)state_before(a, row) + row * n + j0, lanes);
    for (int j = 0; j < VW; ++j) {
        s[3][j] = sums[2][r][j] + part[2][j];
        s[0][j] = VMATH(sigmoid)(s[0][j] + (sums[0][r][j] + part[0][j]));
        s[1][j] = VMATH(sigmoid)(s[1][j] + (sums[1][r][j] + part[1][j]));
        s[2][j] = VMATH(tanh)(s[2][j] + s[0][j] * s[3][j]);
        h[j] = s[2][j] + s[1][j] * (before[j] - s[2][j]);
    }
    for (int gate = 0; gate < SAVED; ++gate) {
        KERNEL(give)(gates + gate * n, s[gate], lanes);
    }
    KERNEL(give)((elem *)a->h + row * n + j0, h, lanes);
}

/* The backward of the cell of one batch row. The state before reaches h_t directly, too: z dh is
 * carried on. */
INLINE void KERNEL(cell_back)(const adzi_recurrent_step_args *a, int64_t row, int64_t j0, int lanes,
    const elem *dh, elem (*d)[MOST_ROWS][VW], int r, elem *carry)
{
    const int64_t n = a->hidden, at = row * n + j0;
    elem *dgates = (elem *)a->dgates + row * SAVED * n + j0;
    elem s[SAVED][VW], before[VW], dn[VW];
    for (int gate = 0; gate < SAVED; ++gate) {
        KERNEL(take)(s[gate], (const elem *)a->gates + row * SAVED * n + gate * n + j0, lanes);
    }
    KERNEL(take)(before, (const elem *)state_before(a, row) + at, lanes);
    for (int j = 0; j < VW; ++j) {
        const elem reset = s[0][j], z = s[1][j], new = s[2][j];
        dn[j] = dh[j] * (ELEM(1) - z) * (ELEM(1) - new *new);
        d[0][r][j] = dn[j] * s[3][j] * reset * (ELEM(1) - reset);
        d[1][r][j] = dh[j] * (before[j] - new) * z * (ELEM(1) - z);
        d[2][r][j] = dn[j] * reset;
        carry[j] = dh[j] * z;
    }
    KERNEL(give)(dgates, d[0][r], lanes);
    KERNEL(give)(dgates + n, d[1][r], lanes);
    KERNEL(give)(dgates + 2 * n, dn, lanes);
    KERNEL(give)(dgates + 3 * n, d[2][r], lanes);
}

#include "ops/recurrent/recurrent_steps.h"

#endif
