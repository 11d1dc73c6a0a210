/* The arguments of the kernel in gemm_round.kernel.c. */
#ifndef ADZI_TENSOR_GEMM_ROUND_H
#define ADZI_TENSOR_GEMM_ROUND_H

#include <stdint.h>

/** Rounds the stored matrices of a batch to bf16 (to nearest, ties to even) and stores them as f32
 * without gaps. A unit is a row of one item. */
typedef struct adzi_round_args {
    const float *from;
    int64_t rows, columns, ld, stride; /**< ld, stride: elements from row to row, item to item */
    float *to;                         /**< items of rows * columns elements */
} adzi_round_args;

#endif
