/* Arithmetic of shapes: checks, strides, broadcasting, dimensions. */
#ifndef ADZI_TENSOR_SHAPE_H
#define ADZI_TENSOR_SHAPE_H

#include "tensor/tensor.h"

/** a * b for sizes; false when it does not fit int64_t. Every size is computed with this. */
static inline bool adzi_multiply(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/** Strides of a contiguous tensor, in elements. */
void adzi_contiguous_strides(int rank, const int64_t *sizes, int64_t *strides);

/** The product of sizes known to fit. */
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

/** `dim` as 0 .. rank-1 (rank 0 counts as 1, as in PyTorch), or -1 with ADZ_ERR_DIM recorded. */
int adzi_dim(const char *op, const adz_tensor *t, int dim);

/** The place of a dimension that is to be added, as 0 .. rank, or -1 with ADZ_ERR_DIM recorded. */
int adzi_new_dim(const char *op, const adz_tensor *t, int dim);

/** A set bit per dimension that `dims` names; false with an error for a bad or repeated one. */
bool adzi_dims_mask(const char *op, const adz_tensor *t, adz_dims dims, unsigned *mask);

/** The sizes of a reduction over `mask`. */
int adzi_reduced_sizes(const adz_tensor *t, unsigned mask, bool keepdim, int64_t *sizes);

/**
 * Broadcasts the shape (rank, sizes) with that of `t` and writes the result back. False with
 * ADZ_ERR_SHAPE, which names both shapes, if they do not broadcast.
 */
bool adzi_broadcast_with(const char *op, int *rank, int64_t *sizes, const adz_tensor *t);

/** Writes the broadcast shape of a and b to (rank, sizes); false as adzi_broadcast_with. */
bool adzi_broadcast(
    const char *op, int *rank, int64_t *sizes, const adz_tensor *a, const adz_tensor *b);

/** Strides of `t` as it reads when broadcast to rank `rank` and `sizes`. */
void adzi_broadcast_strides(const adz_tensor *t, int rank, const int64_t *sizes, int64_t *strides);

/**
 * Strides under which the elements of `t` read as the shape (rank, sizes) of the same count;
 * false when that needs a copy.
 */
bool adzi_view_strides(const adz_tensor *t, int rank, const int64_t *sizes, int64_t *strides);

#endif
