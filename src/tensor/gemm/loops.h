/* Large products in our own loops. */
#ifndef ADZI_TENSOR_GEMM_LOOPS_H
#define ADZI_TENSOR_GEMM_LOOPS_H

#include <stddef.h>

#include "base/threads/addresses.h"
#include "base/isa.h"
#include "tensor/gemm/gemm.h"

/** The arguments of the kernels gemm_blocked: one product in f32 or f64, and working memory. */
typedef struct adzi_gemm_blocked_args {
    const adzi_gemm_args *args; /**< the product; its batch and strides are not used */
    bool swapped;               /**< computes C^T = B A^T; adzi_gemm_is_swapped() decides */
    void *work;                 /**< ADZI_GEMM_WORK(sizeof(T)) bytes, at a multiple of 64 */
} adzi_gemm_blocked_args;

/** The arguments of the kernels gemm_pack. */
typedef struct adzi_gemm_pack_args {
    const adzi_gemm_args *args; /**< the product whose B is copied */
    void *to;                   /**< adzi_gemm_packed_bytes() bytes, at a multiple of 64 */
} adzi_gemm_pack_args;

ADZI_ADDRESSES(adzi_gemm_pack_args, args, to);

/* Note [Blocks of a large product]
 *
 * A tile of C, a few rows high and up to three vectors wide, is summed in registers. It reads a few
 * rows of op(A) and a strip of op(B), each one layer of k long. The block of rows of A stays in the
 * second-level cache while the strips are read, and each strip while the rows are read. Every
 * element of C is one chain of multiply-adds in the order of k, wherever blocks, tiles and layers
 * end.
 *
 * Each layer reads and writes C once more. Layers of 384 elements with AVX2 and of 768 with AVX-512
 * make products with long sides up to 9% faster than layers of 256 (Zen 4). A block has as many
 * rows, and a group as many strips, as have room with the depth of the layer.
 *
 * A tile needs the strip contiguous, and of A one element per row at a time. So rows of A that are
 * contiguous along k need no copy. A transposed A and a wide B are packed, because the rows of a
 * strip would be a page apart. Packing costs one pass over the operand. It is left out where an
 * operand is short, or where few rows of C use it.
 */
enum {
    ADZI_GEMM_BLOCK = 1 << 16,       /**< the most elements of op(A) at a time */
    ADZI_GEMM_GROUP_BYTES = 3 << 18, /**< the most bytes of strips of op(B) at a time */
    ADZI_GEMM_STRIP_BYTES = 192      /**< the most bytes of a row of a strip */
};

/** Bytes of working memory: ADZI_GEMM_WORK_A for the rows of A, ADZI_GEMM_WORK for A and B. */
#define ADZI_GEMM_WORK_A(element) ((size_t)ADZI_GEMM_BLOCK * (element))
#define ADZI_GEMM_WORK(element)   (ADZI_GEMM_WORK_A(element) + (size_t)ADZI_GEMM_GROUP_BYTES)

/** True if a product is computed as C^T = B A^T: few rows and a weight that is stored [n, k]. */
bool adzi_gemm_is_swapped(const adzi_gemm_args *args);

/** True for x W^T of up to 12 rows with a weight of 2^16 elements or more, and for one row if the
 * rows of the weight are whole pages apart. Such products are computed as dot products, several
 * rows of x by four rows of W at a time, with fused multiply-adds. */
bool adzi_gemm_is_few_rows(const adzi_gemm_args *args);

/** Computes a floating-point product, or a batch of them, in tiles. Few rows, see
 * adzi_gemm_is_few_rows(), are computed as dot products; vectors, and up to four rows by a B stored
 * [k, n], by the loops for small products. If working memory is refused, these
 * compute every product, and the last bits differ. m, n and k are 1 or more. The bits do not depend
 * on the number of threads. Always returns true. */
bool adzi_gemm_loops_run(const adzi_gemm_args *args);

/** Computes a product by the loops for small products, cut for threads. Always returns true. */
bool adzi_gemm_loops_run_small(const adzi_gemm_args *args);

/** Computes an f32 product from copies that are rounded to bf16. The processor must have
 * AVX512_BF16. If memory is refused, the product is computed in f32. Always returns true. */
bool adzi_gemm_loops_run_bf16(const adzi_gemm_args *args);

/* ---- weights that are packed once ----------------------------------------------------------- */

/**
 * The product that a captured launch computes, if its tiles would copy B into strips in every run.
 *
 * @param args  the arguments of the launch, of which the result is a part
 * @return      NULL for other launches
 */
adzi_gemm_args *adzi_gemm_packable(adzi_kernel kernel, void *args);

/** Bytes of a packed B: at most 47 columns of f32 more than B itself. */
size_t adzi_gemm_packed_bytes(const adzi_gemm_args *args);

/** Copies B to `to` in the order in which tiles read it: strips of three vectors of columns, each
 * with all of k. The order differs between instruction sets. */
void adzi_gemm_pack(const adzi_gemm_args *args, void *to);

/**
 * Makes a captured launch read a packed B. Its blocks then begin where strips do. No bit changes.
 *
 * @param args    the arguments of a launch that adzi_gemm_packable() takes
 * @param packed  what adzi_gemm_pack() has written
 * @param units   set to the units of the launch, and `grain` to their grain
 */
void adzi_gemm_use_packed(void *args, const void *packed, int64_t *units, int64_t *grain);

/* ---- products that are added to a matrix ---------------------------------------------------- */

/**
 * The product that a captured launch computes, if adzi_gemm_make_added() takes it: small, with B
 * stored [k, n], and nothing done with it.
 *
 * @param args  the arguments of the launch
 * @return      NULL for other launches
 */
const adzi_gemm_args *adzi_gemm_addable(adzi_kernel kernel, const void *args);

/**
 * Makes a captured launch that adzi_gemm_addable() takes add its product to a matrix instead of
 * writing it. The bits are those of the product followed by a sum of two matrices.
 *
 * @param kernel  set to the kernel of the launch
 * @param args    the arguments of the launch
 * @param c       the matrix, of the product's dtype and size, and contiguous
 */
void adzi_gemm_make_added(adzi_kernel *kernel, void *args, void *c);

/** Whether a kernel is one of those that adzi_gemm_make_added() sets. */
bool adzi_gemm_is_added(adzi_kernel kernel);

#endif
