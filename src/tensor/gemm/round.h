/* The arguments of the kernel in gemm_round.kernel.c. */
#ifndef ADZI_TENSOR_GEMM_ROUND_H
#define ADZI_TENSOR_GEMM_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "adze/base.h"
#include "base/threads/addresses.h"

/** Copies the stored matrices of a batch to f32 without gaps. Half precision and blocks are
 * widened, which is exact. If asked for, elements are rounded to bf16, to nearest, ties to even. A
 * unit is a row of one item. */
typedef struct adzi_round_args {
    const void *from;
    uint8_t stored; /**< as adzi_gemm_args.a_stored */
    bool rounds;
    int64_t rows, columns, ld, stride; /**< ld, stride: elements from row to row, item to item */
    float *to;                         /**< items of rows * columns elements */
} adzi_round_args;

ADZI_ADDRESSES(adzi_round_args, from, to);

#endif
