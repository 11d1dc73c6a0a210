/* Products of parts of matrices, for one item. Included after the element type is known
 * (tensor/kernel/each_float.h). */
/* C = beta C + alpha op(A) op(B), in f32 or f64 whatever the precision of products is. */
static inline void KERNEL(product)(bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha,
    const elem *a, int64_t lda, const elem *b, int64_t ldb, double beta, elem *c, int64_t ldc)
{
    const adzi_gemm_args args = { .dtype = ELEM_IS_F32 ? ADZ_F32 : ADZ_F64,
        .ta = ta,
        .tb = tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .a = a,
        .lda = lda,
        .b = b,
        .ldb = ldb,
        .beta = beta,
        .c = c,
        .ldc = ldc,
        .batch = 1 };
    if (m > 0 && n > 0) {
        adzi_gemm_run_f32(&args);
    }
}
