/* Orthonormal vectors, for the orthogonal initialiser. */
#ifndef ADZI_NN_ORTHOGONAL_H
#define ADZI_NN_ORTHOGONAL_H

#include <stdint.h>

enum { ADZI_ORTHOGONAL_BLOCK = 32 };

/**
 * Makes n vectors orthonormal, stored one after the other, n <= length: what a QR decomposition
 * with a positive diagonal of R gives. `products` has room for ADZI_ORTHOGONAL_BLOCK n numbers.
 */
void adzi_orthonormalise(double *vectors, int64_t n, int64_t length, double *products);

#endif
