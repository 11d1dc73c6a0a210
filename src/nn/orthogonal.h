/* Orthonormal vectors, for adz_init_orthogonal_. */
#ifndef ADZI_NN_ORTHOGONAL_H
#define ADZI_NN_ORTHOGONAL_H

#include <stdint.h>

/** Number of vectors that are made orthogonal to the earlier ones by one pair of products. */
enum { ADZI_ORTHOGONAL_BLOCK = 32 };

/**
 * Makes the rows of vectors[n, length] orthonormal in place; n <= length. The result is that of a
 * QR decomposition whose R has a positive diagonal. `products` is memory for ADZI_ORTHOGONAL_BLOCK
 * * n doubles.
 */
void adzi_orthonormalise(double *vectors, int64_t n, int64_t length, double *products);

#endif
