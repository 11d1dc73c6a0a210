/* For builds without LAPACK: no BLAS, or one that was built without it. */
#include "tensor/gemm/lapack.h"

int64_t adzi_lapack_eigh_bytes(adz_dtype dtype, int64_t n)
{
    (void)dtype, (void)n;
    return -1;
}

bool adzi_lapack_eigh(adz_dtype dtype, int64_t n, void *a, void *w, void *work)
{
    (void)dtype, (void)n, (void)a, (void)w, (void)work;
    return false;
}

int64_t adzi_lapack_svd_bytes(adz_dtype dtype, int64_t m, int64_t n)
{
    (void)dtype, (void)m, (void)n;
    return -1;
}

bool adzi_lapack_svd(
    adz_dtype dtype, int64_t m, int64_t n, void *a, void *u, void *s, void *vh, void *work)
{
    (void)dtype, (void)m, (void)n, (void)a, (void)u, (void)s, (void)vh, (void)work;
    return false;
}
