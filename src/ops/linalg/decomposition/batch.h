/* Batches of matrices: what the operators of this family check, and how they find an item. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_BATCH_H
#define ADZI_OPS_LINALG_DECOMPOSITION_BATCH_H

#include "ops/op.h"
#include "ops/linalg/decomposition/batch_dims.h"
#include "ops/linalg/decomposition/workers.h"

/** Fails unless input i, which messages call `name`, is f32 or f64 and has two dimensions or more.
 */
bool adzi_want_matrix(adzi_call *call, int i, const char *name);

/** Checks of calls (adzi_steps) of one input a: it holds matrices, or square ones. */
bool adzi_check_matrix(adzi_call *call, void *block);
bool adzi_check_square(adzi_call *call, void *block);

/** The check of a call of two inputs: a holds square matrices and b matrices; they are brought to
 * one dtype. */
bool adzi_check_system(adzi_call *call, void *block);

/** The rows and the columns of a matrix. */
static inline int64_t adzi_rows(const adz_tensor *t)
{
    return t->sizes[t->rank - 2];
}
static inline int64_t adzi_columns(const adz_tensor *t)
{
    return t->sizes[t->rank - 1];
}

/** The number of matrices in a batch. */
static inline int64_t adzi_batch_count(const adz_tensor *t)
{
    return adzi_numel(t->rank - 2, t->sizes);
}

/** Describes how `t` is read as a batch whose leading sizes are the `rank` ones at `sizes`. */
adzi_batch_dims adzi_batch_dims_of(const adz_tensor *t, int rank, const int64_t *sizes);

/** Broadcasts the leading sizes of two batches. False with ADZ_ERR_SHAPE if they do not fit. */
bool adzi_broadcast_batch(
    const char *op, const adz_tensor *a, const adz_tensor *b, int *rank, int64_t *sizes);

/** True if b is a batch of vectors, as torch.linalg.solve takes them: it has one dimension, or the
 * shape of a without the last dimension. */
bool adzi_is_vectors(const adz_tensor *a, const adz_tensor *b);

/** For shape rules, whose results come with the shape of a batch of matrices: makes a result a
 * batch of matrices of other sizes, or one of vectors. */
static inline void adzi_batch_of_matrices(adz_result *y, int64_t rows, int64_t columns)
{
    int64_t *sizes = y->shape.sizes + y->shape.rank - 2;
    sizes[0] = rows;
    sizes[1] = columns;
}

static inline void adzi_batch_of_vectors(adz_result *y, int64_t size)
{
    y->shape.rank--;
    y->shape.sizes[y->shape.rank - 1] = size;
}

/** The shape rule of one number for each matrix. */
adz_status adzi_shape_of_numbers(adz_result *y, adz_tensor *const *in, void *block);

/** How many matrices of `work` multiply-adds are worth a thread. */
static inline int64_t adzi_batch_grain(double work)
{
    return adzi_grain_of(1 << 16, work + 16);
}

/** What the matrices of a batch take. */
typedef struct adzi_work {
    int64_t batch;
    int64_t bytes;     /* memory for an item */
    double multiplies; /* multiply-adds of an item */
    int64_t together; /* matrices that a worker computes at a time; it has memory for all of them */
} adzi_work;

/** Divides the matrices of a batch among workers, and takes memory for them, which adzi_workers_end
 * gives back after the launch. False with ADZ_ERR_MEMORY. */
bool adzi_workers_begin(const char *op, adzi_workers *w, adzi_work work);
void adzi_workers_end(const adzi_workers *w);

/** Memory for what a kernel finds out about every item: 0, or a pivot counted from 1. NULL with the
 * error recorded. */
adz_tensor *adzi_new_info(const char *op, const adz_tensor *a);

/**
 * Fails with ADZ_ERR_NUMERIC if a kernel has found something about an item. Replays of a plan do
 * so, too.
 *
 * @param a     the matrices, named `name` in the message
 * @param what  what is wrong, with a %lld for the pivot, counted from 0: "is singular: ..."
 */
bool adzi_check_info(const char *op, const adz_tensor *found, const adz_tensor *a, const char *name,
    const char *what);

/** An expression: the transpose of the matrices. */
static inline adz_tensor *adzi_mt(adz_tensor *t)
{
    return adz_transpose(t, -2, -1);
}

/** An expression: diagonal matrices [..., n, n] with the elements d[..., n], or d[..., 1] where one
 * number is repeated. */
adz_tensor *adzi_diagonal_matrix(adz_tensor *d, int64_t n);

#endif
