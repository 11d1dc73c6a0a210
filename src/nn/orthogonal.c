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
            adzi_gemm((adzi_gemm_size){ ADZ_F64, end - begin, begin, length },
                (adzi_operand){ block, length, false }, (adzi_operand){ vectors, length, true },
                products, begin);
            adzi_gemm_run(&(adzi_gemm_args){ .dtype = ADZ_F64,
                .m = end - begin,
                .n = length,
                .k = begin,
                .alpha = -1,
                .a = products,
                .lda = begin,
                .b = vectors,
                .ldb = length,
                .beta = 1,
                .c = block,
                .ldc = length,
                .batch = 1 });
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
