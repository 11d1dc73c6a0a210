/* The two triangles of matrices. */
#ifndef ADZI_OPS_SHAPE_TRIANGLE_H
#define ADZI_OPS_SHAPE_TRIANGLE_H

#include "ops/op.h"

typedef struct adzi_triangle_attr {
    int64_t diagonal;
} adzi_triangle_attr;

extern const adz_field adzi_triangle_fields[1];

/* The shape rules, and launches that copy x[..., rows, columns] with zeros above the diagonal
 * (tril), or below it (triu). Diagonal k has the elements of row r at column r + k. */
adz_status adzi_tril_shape(adz_result *y, adz_tensor *const *in, void *block);
adz_status adzi_triu_shape(adz_result *y, adz_tensor *const *in, void *block);
void adzi_tril_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block);
void adzi_triu_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block);

#endif
