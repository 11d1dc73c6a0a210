/* Large products in our own loops. */
#ifndef ADZI_TENSOR_GEMM_LOOPS_H
#define ADZI_TENSOR_GEMM_LOOPS_H

#include <stddef.h>

#include "tensor/gemm/gemm.h"

/** The arguments of the kernels gemm_blocked: one product in f32 or f64, and working memory. */
typedef struct adzi_gemm_blocked_args {
    const adzi_gemm_args *args; /**< the product; its batch, strides and relu are not used */
    void *work;                 /**< ADZI_GEMM_WORK(sizeof(T)) bytes, at a multiple of 64 */
} adzi_gemm_blocked_args;

/* Note [Blocks of a large product]
 *
 * A tile of C, a few rows high and three vectors wide, is summed in registers. It reads a few rows
 * of op(A) and a strip of op(B), each DEPTH elements of k long. Both were copied in the order in
 * which the tile reads them. The strip stays in the first-level cache while the rows of A are read.
 * ROWS rows of A, 0.4 MB, stay in the second-level cache while the strips are read. Every element
 * of C is summed in the order of k, wherever blocks and tiles end.
 */
enum {
    ADZI_GEMM_DEPTH = 192,      /**< the most elements of k at a time; pairs of them in bf16 */
    ADZI_GEMM_ROWS = 480,       /**< the most rows of op(A) at a time; a multiple of a tile's */
    ADZI_GEMM_STRIPS = 32,      /**< the most strips of op(B) at a time */
    ADZI_GEMM_STRIP_BYTES = 192 /**< the most bytes of a row of a strip */
};

/** Bytes of working memory: ADZI_GEMM_WORK_A for the rows of A, ADZI_GEMM_WORK for A and B. */
#define ADZI_GEMM_WORK_A(element) ((size_t)(ADZI_GEMM_ROWS * ADZI_GEMM_DEPTH) * (element))
#define ADZI_GEMM_WORK(element)  \
    (ADZI_GEMM_WORK_A(element) + \
        (size_t)(ADZI_GEMM_DEPTH * ADZI_GEMM_STRIPS * ADZI_GEMM_STRIP_BYTES))

/** Computes a floating-point product, or a batch of them, without its `relu`. The operands are read
 * where they are. m, n and k are 1 or more. The bits do not depend on the number of threads. Always
 * returns true. */
bool adzi_gemm_loops_run(const adzi_gemm_args *args);

/** Computes a floating-point product without its `relu` from copies of blocks of the operands. If
 * memory for the copies is refused, the operands are read where they are, and the last bits differ.
 * m, n and k are 1 or more. Always returns true. */
bool adzi_gemm_loops_run_copied(const adzi_gemm_args *args);

/** Computes an f32 product without its `relu` from copies that are rounded to bf16. The processor
 * must have AVX512_BF16. If memory is refused, the product is computed in f32. Always returns true.
 */
bool adzi_gemm_loops_run_bf16(const adzi_gemm_args *args);

#endif
