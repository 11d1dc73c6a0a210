/* Diagonals of matrices, and matrices with a given diagonal. */
#ifndef ADZI_OPS_SHAPE_DIAGONAL_H
#define ADZI_OPS_SHAPE_DIAGONAL_H

#include "ops/op.h"

/**
 * Matrices[..., rows, columns] of zeros with the vectors x[..., n] on the diagonal `offset`, which
 * has n elements, at most as many as fit. A composition. NULL with the error recorded.
 */
adz_tensor *adzi_diagonal_put(adz_tensor *x, int64_t rows, int64_t columns, int64_t offset);

#endif
