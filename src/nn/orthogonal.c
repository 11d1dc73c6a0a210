/* Gram-Schmidt orthogonalisation by blocks. */
#include "nn/orthogonal.h"

#include <math.h>

#include "tensor/gemm/gemm.h"

static double dot(const double *a, const double *b, int64_t length)
{
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Each block of vectors V first loses its part along the finished vectors U before it:
 *
 *     V = V - (V U^T) U
 *
 * This is nearly all of the work, and it consists of matrix products. Inside the block, each vector
 * loses its parts along the earlier ones and is divided by its norm. Every subtraction is made
 * twice: the first leaves rounding errors that grow as the vector shrinks, the second removes
 * them. */
void adzi_orthonormalise(double *vectors, int64_t n, int64_t length, double *products)
{
    for (int64_t begin = 0; begin < n; begin += ADZI_ORTHOGONAL_BLOCK) {
        int64_t end = begin + ADZI_ORTHOGONAL_BLOCK < n ? begin + ADZI_ORTHOGONAL_BLOCK : n;
        double *block = vectors + begin * length;
        for (int pass = 0; pass < 2 && begin > 0; ++pass) {
            adzi_gemm(ADZ_F64, false, true, end - begin, begin, length, 1, block, length, vectors,
                length, 0, products, begin);
            adzi_gemm(ADZ_F64, false, false, end - begin, length, begin, -1, products, begin,
                vectors, length, 1, block, length);
        }
        for (int64_t k = begin; k < end; ++k) {
            double *v = vectors + k * length;
            for (int pass = 0; pass < 2; ++pass) {
                for (int64_t j = begin; j < k; ++j) {
                    const double *u = vectors + j * length;
                    double along = dot(u, v, length);
                    for (int64_t i = 0; i < length; ++i) {
                        v[i] -= along * u[i];
                    }
                }
            }
            double norm = sqrt(dot(v, v, length));
            for (int64_t i = 0; i < length; ++i) {
                v[i] = norm > 0 ? v[i] / norm : 0;
            }
        }
    }
}
