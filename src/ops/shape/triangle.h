/* The two triangles of matrices. */
#ifndef ADZI_OPS_SHAPE_TRIANGLE_H
#define ADZI_OPS_SHAPE_TRIANGLE_H

#include "ops/op.h"

typedef struct adzi_triangle_attr {
    int64_t diagonal;
} adzi_triangle_attr;

extern const adz_field adzi_triangle_fields[1];

/**
 * A copy of x[..., rows, columns] with zeros above the diagonal (lower), or below it. Diagonal k
 * has the elements of row r at column r + k. `op` records an adzi_triangle_attr.
 */
adz_tensor *adzi_triangle(const adzi_op *op, adz_tensor *x, int64_t diagonal, bool lower);

#endif
