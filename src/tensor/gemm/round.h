/* The arguments of the kernels in gemm_round.kernel.c. */
#ifndef ADZI_TENSOR_GEMM_ROUND_H
#define ADZI_TENSOR_GEMM_ROUND_H

#include <stdint.h>

enum { ADZI_ROUND_RUN = 16 }; /* columns transposed at a time */

/**
 * Rounds the stored matrices of a batch to bf16 (to nearest, ties to even) and packs them. Each
 * group of `length` columns becomes a matrix [rows, length] without gaps. A unit of gemm_round is a
 * row of one item.
 */
typedef struct adzi_round_args {
    const float *from;
    int64_t rows, columns, ld, stride; /**< ld, stride: elements from row to row, item to item */
    int64_t length;                    /**< 1 .. columns; the last group may be narrower */
    void *to; /**< items of rows * columns elements: f32 holding bf16's values, or bf16 */
} adzi_round_args;

#endif
