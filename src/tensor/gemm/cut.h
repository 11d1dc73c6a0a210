/* How one product, or a batch of products, is shared between threads. */
#ifndef ADZI_TENSOR_GEMM_CUT_H
#define ADZI_TENSOR_GEMM_CUT_H

#include <stddef.h>

#include "base/threads/parallel.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/q8_0.h"
#include "tensor/tensor.h"

/* Note [Cutting products]
 *
 * A product is cut along one side of C into blocks. The shape alone gives the blocks, never the
 * number of threads. Each thread of a launch computes a run of blocks.
 *
 * An implementation gives an element of C either the same bits wherever a block ends, or not. If it
 * does, the neighbouring blocks of a thread become one rectangle and one call. If it does not, each
 * block is a separate call (`each_alone`), so that the bits depend on the shape alone. Such a
 * call packs the operand that all blocks share again, so there are at most eight blocks.
 */

/** How an implementation wants its products cut. */
typedef struct adzi_gemm_cut_rule {
    bool by_columns;  /**< along the columns of C, else along its rows */
    bool each_alone;  /**< every block is a separate call */
    double work;      /**< least multiply-adds of a block; 0 for no such bound */
    int64_t least;    /**< least rows or columns of a block */
    bool above;       /**< a block exceeds `work` and `least`; else it may equal them */
    int64_t multiple; /**< the rows or columns of a block are a multiple of this */
} adzi_gemm_cut_rule;

/** A product and its blocks. */
typedef struct adzi_gemm_cut {
    adzi_gemm_args g;
    bool by_columns, each_alone;
    int64_t extent; /**< rows or columns of C */
    int64_t length; /**< rows or columns of one block */
    int64_t blocks; /**< blocks of one item; the last block takes the remaining rows or columns */
} adzi_gemm_cut;

/** Cuts a product whose m, n, k and batch are 1 or more. */
adzi_gemm_cut adzi_gemm_cut_by(const adzi_gemm_args *args, const adzi_gemm_cut_rule *rule);

/**
 * The next rectangle of C that is one call. The units of the launch are the blocks of all items.
 *
 * @param begin  the first unit; set to the unit after the rectangle
 * @param end    the end of the thread's units; above *begin
 */
adzi_gemm_block adzi_gemm_cut_next(const adzi_gemm_cut *cut, int64_t *begin, int64_t end);

/** How many blocks are worth a thread. */
int64_t adzi_gemm_cut_grain(const adzi_gemm_cut *cut);

/** Runs a kernel over all blocks. Its arguments are a struct that holds the cut as member `cut`. */
#define ADZI_GEMM_LAUNCH_CUT(kernel, type, args)                                 \
    adzi_launch((kernel), type, (args), (args)->cut.blocks *(args)->cut.g.batch, \
        adzi_gemm_cut_grain(&(args)->cut))

/* ---- parts of a product --------------------------------------------------------------------- */

enum { ADZI_GEMM_LAUNCH_WORK = 1 << 18 }; /**< multiply-adds that are worth a thread */

/** How many units of so many multiply-adds each are worth a thread; 1 or more. */
int64_t adzi_gemm_grain(double work_per_unit);

static inline int64_t adzi_gemm_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** Multiply-adds of one item. */
static inline double adzi_gemm_work(const adzi_gemm_args *g)
{
    return (double)g->m * (double)g->n * (double)g->k;
}

/** Bytes of an element of a floating-point product. */
static inline int64_t adzi_gemm_item_size(const adzi_gemm_args *g)
{
    return g->dtype == ADZ_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
}

/** The address of an element that lies so many elements after another one. `stored` is that of an
 * operand, as in adzi_gemm_args, else 0. In blocks both elements begin one. */
static inline const void *adzi_gemm_at(
    const adzi_gemm_args *g, uint8_t stored, const void *base, int64_t elements)
{
    if (stored == ADZI_STORED_Q8_0) {
        return (const char *)base + adzi_q8_0_offset(elements);
    }
    return (const char *)base + elements * (stored != 0 ? 2 : adzi_gemm_item_size(g));
}

/** A rectangle of one item's C as a separate product, with a batch of 1 and without `relu`. */
adzi_gemm_args adzi_gemm_part(const adzi_gemm_args *g, const adzi_gemm_block *block);

/** C = beta C + bias for one item. C is not read when beta is 0. */
void adzi_gemm_start(const adzi_gemm_args *g);

#endif
