/* What gemm_round.kernel.c takes. */
#ifndef ADZI_TENSOR_GEMM_ROUND_H
#define ADZI_TENSOR_GEMM_ROUND_H

#include <stdint.h>

enum { ADZI_ROUND_RUN = 16 }; /* columns transposed at a time */

/**
 * Stored matrices, one after the other, each rounded to bf16 (to nearest, ties to even) and packed:
 * `length` columns at a time become a matrix of their own, [rows, length], without gaps. Units are
 * the rows of all items.
 */
typedef struct adzi_round_args {
    const float *from;
    int64_t rows, columns, ld, stride; /**< elements from row to row, from item to item */
    int64_t length;                    /**< 1 to columns; the last matrix has what is left */
    void *to; /**< items of rows * columns elements: f32 holding bf16's values, or bf16 */
} adzi_round_args;

#endif
