/* The products of a training step alone. With the same BLAS no step can be faster. */
#ifndef ADZE_BENCH_GEMM_FLOOR_H
#define ADZE_BENCH_GEMM_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

/* C[m, n] = op(A) op(B), stored by rows. The operands are matrices of the floor, by number:
 * products of a step that share a matrix share it here as well, and others have their own. If all
 * products read one matrix, it would stay in the cache, and they would be faster than in any step.
 */
typedef struct {
    bool ta, tb;
    int64_t m, n, k;
    int a, b, c;
} product;

enum { MOST_PRODUCTS = 8, MOST_MATRICES = 16 };

typedef struct {
    product products[MOST_PRODUCTS];
    int count;
    bool bf16; /* oneDNN multiplies bf16 matrices, OpenBLAS f32 in any case */
    float *matrices[MOST_MATRICES];
} gemm_floor;

/* Memory for the products; false when there is none. */
bool gemm_floor_begin(gemm_floor *f);
void gemm_floor_end(gemm_floor *f);

/* Seconds for one call per product, one product after the other; -1 where the library is absent. */
double gemm_floor_openblas(const gemm_floor *f, int threads);
double gemm_floor_onednn(const gemm_floor *f, int threads);
double gemm_floor_mkl(const gemm_floor *f, int threads);

/* Seconds of w -= lr dw over `count` floats by one thread, or by two halves. */
double update_floor(float *w, const float *dw, int64_t count);

#endif
