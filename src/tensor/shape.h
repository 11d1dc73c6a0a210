/* Arithmetic of shapes: checks, strides, broadcasting, dimensions. */
#ifndef ADZI_TENSOR_SHAPE_H
#define ADZI_TENSOR_SHAPE_H

#include "tensor/tensor.h"

/** Multiplies two sizes. Returns false if the product does not fit int64_t. Every size that depends
 * on the caller's numbers is computed with it. */
static inline bool adzi_multiply(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/** Writes the strides of a contiguous tensor, in elements. */
void adzi_contiguous_strides(int rank, const int64_t *sizes, int64_t *strides);

/** The product of sizes. The caller knows that it fits int64_t. */
static inline int64_t adzi_numel(int rank, const int64_t *sizes)
{
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) {
        count *= sizes[i];
    }
    return count;
}

static inline bool adzi_same_sizes(const adz_tensor *a, const adz_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; i < a->rank && same; ++i) {
        same = a->sizes[i] == b->sizes[i];
    }
    return same;
}

/** Checks a dimension of the caller, -rank .. rank-1, and returns it as 0 .. rank-1. Rank 0 counts
 * as rank 1, as in PyTorch. Returns -1 with ADZ_ERR_DIM recorded if it is out of range. */
int adzi_dim(const char *op, const adz_tensor *t, int dim);

/** Checks where a dimension is to be added, -rank-1 .. rank, and returns it as 0 .. rank. Returns
 * -1 with ADZ_ERR_DIM recorded if it is out of range. */
int adzi_new_dim(const char *op, const adz_tensor *t, int dim);

/** Sets bit d of `mask` for each dimension d that `dims` names. Returns false with ADZ_ERR_DIM
 * recorded if one is out of range or named twice. */
bool adzi_dims_mask(const char *op, const adz_tensor *t, adz_dims dims, unsigned *mask);

/** Writes the sizes of a reduction over the dimensions in `mask` and returns its rank. With
 * `keepdim`, reduced dimensions keep the size 1. */
int adzi_reduced_sizes(const adz_tensor *t, unsigned mask, bool keepdim, int64_t *sizes);

/**
 * Broadcasts the shape (rank, sizes) with that of `t` and writes the result back. False with
 * ADZ_ERR_SHAPE, which names both shapes, if they do not broadcast.
 */
bool adzi_broadcast_with(const char *op, int *rank, int64_t *sizes, const adz_tensor *t);

/** Writes the broadcast shape of a and b to (rank, sizes). False with ADZ_ERR_SHAPE, which names
 * both shapes, if they do not broadcast. */
bool adzi_broadcast(
    const char *op, int *rank, int64_t *sizes, const adz_tensor *a, const adz_tensor *b);

/** Writes the strides with which `t` is read as the shape (rank, sizes), to which it broadcasts. A
 * repeated dimension has stride 0. */
void adzi_broadcast_strides(const adz_tensor *t, int rank, const int64_t *sizes, int64_t *strides);

/**
 * Writes the strides with which the elements of `t` are read as the shape (rank, sizes), which has
 * as many elements. Returns false if there are no such strides, so that a copy is needed.
 */
bool adzi_view_strides(const adz_tensor *t, int rank, const int64_t *sizes, int64_t *strides);

#endif
