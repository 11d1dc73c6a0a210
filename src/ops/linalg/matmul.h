/* The matrix product on the tape, on which linear, einsum and the other operators of this folder
 * rest. */
#ifndef ADZI_OPS_LINALG_MATMUL_H
#define ADZI_OPS_LINALG_MATMUL_H

#include "ops/op.h"
#include "tensor/gemm/gemm.h"
#include "tensor/tensor.h"

/**
 * op(a) op(b) over the last two dimensions, leading ones broadcast; op transposes where its flag is
 * set. Ranks 2 to 8; differentiable, gradients are products of the same kind.
 */
adz_tensor *adzi_matmul(adz_tensor *a, bool ta, adz_tensor *b, bool tb);

/** One operand as a product reads it. */
typedef struct adzi_matrix {
    const void *data;
    bool transposed; /* stored column by column */
    uint8_t stored;  /* as adzi_gemm_args.a_stored */
    int64_t ld;      /* the leading dimension: elements from one stored row to the next */
} adzi_matrix;

/**
 * Describes the last two dimensions of `t` as a matrix that a product can read without a copy.
 * False if the elements must be copied first.
 */
bool adzi_as_matrix(const adz_tensor *t, adzi_matrix *matrix);

/**
 * `t` as a matrix, copied first if BLAS cannot read it. Returns `t` or the copy,
 * which is borrowed from the scope. NULL if `t` is NULL or memory was refused.
 */
adz_tensor *adzi_matrix_of(const char *op, adz_tensor *t, adzi_matrix *matrix);

/**
 * Prepares the product of an f32 input with input i, which is in half precision. The product reads
 * input i as it is stored. While a function is traced, it is converted to f32 instead, because
 * exported files have products of one dtype only. False if that failed.
 */
bool adzi_take_half(adzi_call *call, int i);

#endif
