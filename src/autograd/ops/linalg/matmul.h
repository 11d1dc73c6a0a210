/* The one matrix product that everything rests on. */
#ifndef ADZI_AUTOGRAD_OPS_LINALG_MATMUL_H
#define ADZI_AUTOGRAD_OPS_LINALG_MATMUL_H

#include "tensor/gemm/gemm.h"
#include "tensor/tensor.h"

/**
 * op(a) op(b) over the last two dimensions, leading ones broadcast; op transposes where its flag is
 * set. Ranks 2 to 8; differentiable, gradients are products of the same kind.
 */
adz_tensor *adzi_matmul(adz_tensor *a, bool ta, adz_tensor *b, bool tb);

/** One operand as BLAS reads it. */
typedef struct adzi_matrix {
    const void *data;
    bool transposed; /* stored the other way round */
    int64_t ld;
} adzi_matrix;

/**
 * The last two dimensions of `t` as a matrix that BLAS can read where it lies; false when they have
 * to be copied first.
 */
bool adzi_as_matrix(const adz_tensor *t, adzi_matrix *matrix);

/* The slow way of the next call. */
adz_tensor *adzi_lie_as_matrix_slow(const char *op, adz_tensor *t, adzi_matrix *matrix);

/** `t`, or a copy of it that lies so, as a matrix; NULL when `t` is, or memory was refused. */
static inline adz_tensor *adzi_lie_as_matrix(const char *op, adz_tensor *t, adzi_matrix *matrix)
{
    if (t != NULL && adzi_is_usual_matrix(t)) {
        *matrix = (adzi_matrix){ t->data, false, t->sizes[1] };
        return t;
    }
    return adzi_lie_as_matrix_slow(op, t, matrix);
}

#endif
