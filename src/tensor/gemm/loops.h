/* Large products in our own loops. */
#ifndef ADZI_TENSOR_GEMM_LOOPS_H
#define ADZI_TENSOR_GEMM_LOOPS_H

#include <stddef.h>

#include "tensor/gemm/gemm.h"

/** What the kernels gemm_blocked take: one product, f32 or f64, and room to work in. */
typedef struct adzi_gemm_blocked_args {
    const adzi_gemm_args *args; /**< the product; its batch, strides and relu do not count */
    void *work;                 /**< ADZI_GEMM_WORK(sizeof(T)) bytes, on a multiple of 64 */
} adzi_gemm_blocked_args;

/* Note [Blocks of a large product]
 *
 * A tile of C, a few rows high and three vectors wide, is summed in registers. It reads as many
 * rows of op(A) and a strip of op(B), DEPTH deep, which lie where they are read fastest: copied, in
 * the order in which the tile reads them. The strip stays in the first-level cache while the rows
 * of A pass, and ROWS rows of A, 0.4 MB, stay in the second while the strips do. Every element of C
 * is summed over its k in order, wherever blocks and tiles end.
 */
enum {
    ADZI_GEMM_DEPTH = 192,      /**< of k at a time, at most, or pairs of it in bf16 */
    ADZI_GEMM_ROWS = 480,       /**< of op(A) at a time, at most: a multiple of a tile's */
    ADZI_GEMM_STRIPS = 32,      /**< of op(B) at a time, at most */
    ADZI_GEMM_STRIP_BYTES = 192 /**< of a row of a strip, at most */
};

/** Bytes to work in: for the rows of A, and in all. */
#define ADZI_GEMM_WORK_A(element) ((size_t)(ADZI_GEMM_ROWS * ADZI_GEMM_DEPTH) * (element))
#define ADZI_GEMM_WORK(element)  \
    (ADZI_GEMM_WORK_A(element) + \
        (size_t)(ADZI_GEMM_DEPTH * ADZI_GEMM_STRIPS * ADZI_GEMM_STRIP_BYTES))

/** Computes a product of floats, or a batch of them, but for its `relu`, from the operands where
 * they are. m, n and k are 1 or more. The bits do not depend on the number of threads. Always
 * returns true. */
bool adzi_gemm_loops_run(const adzi_gemm_args *args);

/** Like adzi_gemm_loops_run(), from copies of blocks of the operands. Where memory for copies is
 * refused, the operands are read where they are, and the last bits differ. */
bool adzi_gemm_loops_run_copied(const adzi_gemm_args *args);

/** Like adzi_gemm_loops_run_copied(), for f32 whose copies are rounded to bf16. The processor must
 * have AVX512_BF16. Where memory is refused, the product is computed in f32. */
bool adzi_gemm_loops_run_bf16(const adzi_gemm_args *args);

#endif
