#ifndef ADZI_OPS_LINALG_DECOMPOSITION_MATRIX_EXP_KERNEL_H
#define ADZI_OPS_LINALG_DECOMPOSITION_MATRIX_EXP_KERNEL_H

#include "base/threads/addresses.h"
#include "ops/linalg/decomposition/workers.h"

/** Arguments of matrix_exp. */
typedef struct adzi_matrix_exp_args {
    const char *a; /**< [batch, n, n] */
    char *y;       /**< the same shape */
    int64_t n;
    adzi_workers workers;
} adzi_matrix_exp_args;

ADZI_ADDRESSES(adzi_matrix_exp_args, a, y, workers.memory);

enum { ADZI_EXP_MATRICES = 7 }; /**< n x n, of working memory; n pivots of i64 stand behind them */

#endif
