/* Kernels of one direction of a GRU layer; see Note [Products of one step] in recurrent_layer.h.
 *
 *     r, z, n = gates;   pr, pz, pn = h_(t-1) W^T + bias
 *     r = sigmoid(r + pr),   z = sigmoid(z + pz),   n = tanh(n + r pn)
 *     h_t = n + z (h_(t-1) - n)
 *
 * W is weight_hh[3H, H], and gates hold the part of x_t on entry.
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
#define STATES   1
#define GATES    3
#define SAVED    4
#define CARRIES  1

#define THIS_FILE "ops/recurrent/gru_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "ops/recurrent/recurrent_tiles.h"

INLINE void KERNEL(cell)(CELL_VALUES *v)
{
    for (int gate = 0; gate < GATES; ++gate) {
        for (int j = 0; j < VW; ++j) {
            v->product[gate][j] += v->bias[gate][j];
        }
    }
    for (int j = 0; j < VW; ++j) {
        const elem r = VMATH(sigmoid)(v->gates[0][j] + v->product[0][j]);
        const elem z = VMATH(sigmoid)(v->gates[1][j] + v->product[1][j]);
        const elem of_h = v->product[2][j], n = VMATH(tanh)(v->gates[2][j] + r * of_h);
        v->gates[0][j] = r;
        v->gates[1][j] = z;
        v->gates[2][j] = n;
        v->gates[3][j] = of_h;
        v->h[j] = n + z * (v->before[j] - n);
    }
}

/* The state before reaches h_t directly, too: z dh is carried on. */
INLINE void KERNEL(cell_back)(CELL_VALUES *v)
{
    for (int j = 0; j < VW; ++j) {
        const elem r = v->gates[0][j], z = v->gates[1][j], n = v->gates[2][j];
        const elem dh = v->dh[j], dn = dh * (ELEM(1) - z) * (ELEM(1) - n * n);
        v->d[0][j] = dn * v->gates[3][j] * r * (ELEM(1) - r);
        v->d[1][j] = dh * (v->before[j] - n) * z * (ELEM(1) - z);
        v->d[2][j] = dn;
        v->d[3][j] = dn * r;
        v->carry[j] = dh * z;
    }
}

#include "ops/recurrent/recurrent_steps.h"

#endif
