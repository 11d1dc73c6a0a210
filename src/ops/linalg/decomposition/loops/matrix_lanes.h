/* Note [Lanes of matrices]
 * Small matrices are computed ADZI_MATRIX_LANES at a time. Element (i, j) of all of them is a run
 * of lanes, so that loops over lanes become vector instructions. Lanes do not mix: the bits of a
 * matrix are the same whether it is computed alone or with others. In Jacobi's method a lane that
 * has converged rotates by the identity, which changes no bit. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_LOOPS_MATRIX_LANES_H
#define ADZI_OPS_LINALG_DECOMPOSITION_LOOPS_MATRIX_LANES_H

#include <stdint.h>
#include <string.h>
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#include "tensor/kernel/registers.h"

enum {
    ADZI_MATRIX_LANES = 8,
    ADZI_LANES_MOST = 16 /**< rows and columns of matrices that are factored and solved in lanes */
};

/** The number of matrices, of the `left` ones that remain, that a kernel with `lanes` lanes
 * computes at a time. One or two matrices are computed one after the other, which costs less than
 * lanes that are mostly empty. */
static inline int64_t adzi_lanes_of(int64_t left, int64_t lanes)
{
    return left < 3 ? 1 : left < lanes ? left : lanes;
}

#endif
