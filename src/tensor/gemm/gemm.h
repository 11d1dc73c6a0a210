/* Matrix products. Every product of the library enters through this header, and a table chooses the
 * implementation that computes it.
 *
 * Note [The algorithm of a product]
 *
 * adz_matmul() describes its product in an adzi_gemm_args and calls adzi_gemm_run() (gemm.c). That
 * walks down the table adzi_gemm_algorithms, and the first row that takes the product runs it. The
 * row launches a kernel over the items of a batch or over the blocks of C (cut.h). A file with
 * kernels ends in .kernel.c and is compiled once for each level of the processor. The table of a
 * kernel, such as KERNEL_FOR(gemm_small, dtype), has the one for the level in use.
 *
 * The rows of adzi_gemm_algorithms in their order; their members `what` and `why` have the sizes
 * and the measurements. C[m, n] = A[m, k] B[k, n]; x W^T is a product whose B is stored [n, k].
 * "Fused" are the levels AVX2 and AVX-512, and NEON.
 *
 *     row, products                          dtype     level  kernel         function with the loop
 *     -------------------------------------  --------  -----  -------------  ----------------------
 *     integer loops                          integers  all    gemm_int       add_row
 *     tiles in bf16                          f32       bf16   gemm_blocked   add_tile
 *     f32 of rounded operands                f32       all    (runs the f32 product of copies)
 *     small loops                            f32, f64  all    gemm_small
 *       C has one column, or x W^T of 1 to 3 rows                            row_sums
 *       k = 1                                                                outer
 *       rows of C by fours or eights                                         add_tile
 *       the last one to three rows                                           row
 *     dot products: one row of x W^T, A b    f32, f64  fused  gemm_small     row_sums
 *     dot products: few rows of x W^T        f32, f64  fused  gemm_few_rows  block_of_dots
 *     tiles, W in place                      f32, f64  fused  gemm_blocked   add_tile, C^T = W x^T
 *     OpenBLAS                               f32, f64  all    (blas.c)
 *     tiles: one row by B stored [k, n],     f32, f64  all    gemm_sum_rows  add_rows
 *       or one column by A stored [k, m]
 *     tiles: up to 4 rows by B [k, n]        f32, f64  all    gemm_small     add_tile, row
 *     tiles: all others                      f32, f64  all    gemm_blocked   add_tile
 *
 *     kernel         file                     headers that it includes
 *     -------------  -----------------------  -----------------------------------
 *     gemm_small     gemm.kernel.c            gemm_tile.kernel.h: the tile in registers, add_tile
 *                                             gemm_dots.kernel.h: row_sums
 *     gemm_added     gemm.kernel.c            as gemm_small; replays of plans add to C by it
 *     gemm_few_rows  gemm.kernel.c            gemm_dots.kernel.h: block_of_dots
 *                                             gemm_q8_0.kernel.h: add_blocks
 *     gemm_sum_rows  gemm.kernel.c            gemm_sums.kernel.h: add_rows
 *     gemm_blocked   gemm_blocked.kernel.c    gemm_tile.kernel.h: add_tile
 *                                             gemm_pack.kernel.h: copies of A and B
 *                                             gemm_swapped.kernel.h: C^T = W x^T
 *     gemm_int       gemm_int.kernel.c
 *     gemm_round     gemm_round.kernel.c      copies that are rounded to bf16 (half.c, medium.c)
 *     (no kernel)    gemm_tiles.kernel.h      small blocks in cache, for the kernels of attention
 *                                             and convolutions; no product of this table uses it
 *
 * All but OpenBLAS end in one description of a product and one epilogue, alpha, beta, bias and
 * ReLU: gemm_product.kernel.h. A large f32 product passes through these functions:
 *
 *     adz_matmul         ops/linalg/matmul.c      describes it
 *     adzi_gemm_run      gemm.c                   finds the row "tiles" of the table
 *     adzi_gemm_loops_run, compute_blocks
 *                        loops.c                  cuts C for threads and calls the kernel
 *     gemm_blocked       gemm_blocked.kernel.c    layers of k
 *     layer, rows_of_strips, rows_of_strip
 *                        gemm_blocked.kernel.c    blocks of rows of A, strips of B
 *     any_tile           gemm_blocked.kernel.c    one tile of C
 *     add_tile           gemm_tile.kernel.h       its loop over k
 */
#ifndef ADZI_TENSOR_GEMM_GEMM_H
#define ADZI_TENSOR_GEMM_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "adze/base.h"
#include "base/threads/addresses.h"

/** Beside ADZ_F16 and ADZ_BF16 a way in which an operand of an f32 product may be stored: blocks of
 * 32 weights in 34 bytes (tensor/kernel/q8_0.h). Its rows are whole blocks, so their length, the
 * leading dimension and the strides are multiples of 32. */
enum { ADZI_STORED_Q8_0 = 16 };

/**
 * One product, or a batch of products of one shape, all matrices stored by rows:
 *
 *     C = alpha op(A) op(B) + beta C + bias,   op(A)[m, k], op(B)[k, n], C[m, n]
 *
 * The bias, bias[n], is added to each row of C. With `relu`, results below 0 become 0 in the end,
 * and NaN stays NaN. If beta is 0, C is written without being read. If alpha or k is 0, A and B are
 * not read. Integers wrap around; alpha and beta are converted to integers for them. Item i of a
 * batch begins i * stride_a elements after a, i * stride_b after b and i * stride_c after c. A
 * stride of 0 repeats an operand. The items of C must not overlap each other or an operand.
 *
 * An operand of an f32 product may be stored in half precision or in blocks, see Note [Operands in
 * half precision] in half.c. Strides and leading dimensions count its own elements.
 */
typedef struct adzi_gemm_args {
    adz_dtype dtype;            /**< of A, B, C and bias: F32, F64, I32, I64 or U8 */
    bool ta, tb;                /**< A is stored [k, m], B is stored [n, k] */
    uint8_t a_stored, b_stored; /**< ADZ_F16, ADZ_BF16 or ADZI_STORED_Q8_0 if A or B is stored as
                                     such, else 0 */
    int64_t m, n, k;            /**< 0 or more */
    double alpha;               /**< factor of the product */
    const void *a;              /**< stored [m, k] or [k, m] */
    int64_t lda;        /**< elements from one row of A to the next: at least the row's length */
    const void *b;      /**< stored [k, n] or [n, k] */
    int64_t ldb;        /**< elements from one row of B to the next */
    double beta;        /**< factor of what C holds */
    void *c;            /**< stored [m, n] */
    int64_t ldc;        /**< elements from one row of C to the next */
    const void *bias;   /**< n elements added to every row, or NULL */
    bool relu;          /**< f32 and f64 only */
    const void *packed; /**< B as adzi_gemm_pack() has ordered it, read in place of b by tiles that
                             got it from adzi_gemm_use_packed(); else NULL */
    int64_t batch;      /**< items; 0 or more */
    int64_t stride_a, stride_b, stride_c; /**< elements from one item to the next */
} adzi_gemm_args;

/** Its pointers for ADZI_ADDRESSES. `at` is empty, or the name of a member and a dot. */
#define ADZI_GEMM_ADDRESSES(at) at a, at b, at c, at bias, at packed

ADZI_ADDRESSES(adzi_gemm_args, ADZI_GEMM_ADDRESSES());

/** Computes a product. It cannot fail: if an implementation is refused memory, another computes the
 * product without it. Members that a caller does not name are 0, so it names alpha and batch. */
void adzi_gemm_run(const adzi_gemm_args *args);

/** Computes an f32 product in f32, whatever adz_set_matmul_precision() says. */
void adzi_gemm_run_f32(const adzi_gemm_args *args);

/** The dtype and the sizes of a product: C[m, n] of op(A)[m, k] and op(B)[k, n]. */
typedef struct adzi_gemm_size {
    adz_dtype dtype;
    int64_t m, n, k;
} adzi_gemm_size;

/** A matrix that a product reads. */
typedef struct adzi_operand {
    const void *data;
    int64_t ld;      /**< elements from one row to the next, as it is stored */
    bool transposed; /**< it is stored as the transpose of what the product reads */
} adzi_operand;

/** C = op(A) op(B), one product. adzi_gemm_run() computes all others. */
void adzi_gemm(adzi_gemm_size size, adzi_operand a, adzi_operand b, void *c, int64_t ldc);

/** A rectangle of one item's C. */
typedef struct adzi_gemm_block {
    int64_t item, row, rows, column, columns;
} adzi_gemm_block;

/** NULL if there is a BLAS. Otherwise a text that says why not and what to do: the build has none
 * (Meson option `blas`), or OpenBLAS cannot be loaded. Our tiles then compute what the BLAS would.
 * The first call loads OpenBLAS. */
const char *adzi_blas_missing(void);

/** What BLAS this is and how it was built for threads: "OpenBLAS 0.3.21 ... (openmp)", "OpenBLAS
 * not found" or "no BLAS". The first call loads OpenBLAS. */
const char *adzi_blas_info(void);

/** What adzi_blas_info() says, if that needs no loading; otherwise "OpenBLAS, not loaded". */
const char *adzi_blas_now(void);

/** True if large products are computed by a BLAS, if there is one: the processor has no fused
 * multiply-adds, or the user asks for it. */
bool adzi_gemm_uses_blas(void);

/* ---- which implementation computes a product ------------------------------------------------ */

/** One row of the table of implementations. */
typedef struct adzi_gemm_algorithm {
    const char *name; /**< the implementation */
    const char *what; /**< the products that it gets, in words */
    const char *why;  /**< the measurement or the reason */
    bool (*supports)(const adzi_gemm_args *args);
    bool (*run)(const adzi_gemm_args *args); /**< false: nothing was done, the next row is asked */
    bool rounds;                             /**< to bf16, as adz_set_matmul_precision() allows */
    bool relu;                               /**< applies the product's `relu` itself */
} adzi_gemm_algorithm;

/** The table. The first row that takes a product computes it; the last one takes every product. */
extern const adzi_gemm_algorithm adzi_gemm_algorithms[];
extern const int adzi_gemm_n_algorithms;

/** The first row that takes a product of one or more elements. */
const adzi_gemm_algorithm *adzi_gemm_algorithm_of(const adzi_gemm_args *args);

/* ---- for tests and the bench ---------------------------------------------------------------- */

/** The largest size of a product that BLAS gets, because BLAS's integers hold no more. Tests lower
 * it. */
extern int64_t adzi_gemm_size_limit;

/** The largest f32 product, in multiply-adds, that our loops for small products compute. It is four
 * times as large with a short side. Tests set it, to 2^19 at most. */
extern int64_t adzi_gemm_small_limit;

/** Which implementation computes large products. */
typedef enum adzi_gemm_choice {
    ADZI_GEMM_BY_RULE = 0,    /**< the one that the table gives */
    ADZI_GEMM_BLAS_ALONE = 1, /**< OpenBLAS */
    ADZI_GEMM_OURS = 2        /**< our tiles, and our loops for vectors */
} adzi_gemm_choice;

extern adzi_gemm_choice adzi_gemm_backend_choice;

/** Which implementation multiplies operands that are rounded to bf16. */
typedef enum adzi_bf16_choice {
    ADZI_BF16_BY_RULE = 0, /**< the one that the table gives */
    ADZI_BF16_AS_F32 = 1,  /**< the f32 product of rounded operands */
    ADZI_BF16_OURS = 2     /**< our loops, where the processor has AVX512_BF16 */
} adzi_bf16_choice;

extern adzi_bf16_choice adzi_gemm_bf16_choice;

#endif
