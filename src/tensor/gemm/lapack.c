/* LAPACK's divide and conquer, by the Fortran symbols of OpenBLAS. LAPACK stores matrices by
 * columns, so that it sees the transpose of each of ours. */
#include "tensor/gemm/lapack.h"

#include <cblas.h>
#include <limits.h>
#include <stddef.h>

#include "tensor/gemm/blas.h"

/* Fortran passes everything by its address, and the length of each text behind the arguments. */
#define ADDRESS(name, elem)                                                                      \
    void name##syevd_(const char *jobz, const char *uplo, const blasint *n, elem *a,             \
        const blasint *lda, elem *w, elem *work, const blasint *lwork, blasint *iwork,           \
        const blasint *liwork, blasint *info, size_t jobz_length, size_t uplo_length);           \
    void name##gesdd_(const char *jobz, const blasint *m, const blasint *n, elem *a,             \
        const blasint *lda, elem *s, elem *u, const blasint *ldu, elem *vt, const blasint *ldvt, \
        elem *work, const blasint *lwork, blasint *iwork, blasint *info, size_t jobz_length)
ADDRESS(s, float);
ADDRESS(d, double);

/* Elements of working memory by the formulas of LAPACK's manual, which are enough without a query.
 */
static int64_t eigh_room(int64_t n)
{
    return 1 + 6 * n + 2 * n * n;
}

static int64_t svd_room(int64_t m, int64_t n)
{
    const int64_t k = m < n ? m : n, big = m + n - k;
    /* more than the manual's least, so that blocks have room: 64 columns or rows at a time */
    return 4 * k * k + 7 * k + big + 64 * (m + n + k);
}

static int64_t bytes_for(adz_dtype dtype, int64_t integers, int64_t elements)
{
    const int64_t most = sizeof(blasint) == 8 ? INT64_MAX / 64 : INT_MAX;
    if (elements > most) {
        return -1;
    }
    return (integers + 8) / 8 * 8 * (int64_t)sizeof(blasint) +
           elements * (int64_t)adz_dtype_size(dtype);
}

int64_t adzi_lapack_eigh_bytes(adz_dtype dtype, int64_t n)
{
    return n > 1 << 30 ? -1 : bytes_for(dtype, 3 + 5 * n, eigh_room(n));
}

bool adzi_lapack_eigh(adz_dtype dtype, int64_t n, void *a, void *w, void *work)
{
    blasint *integers = work, size = (blasint)n, info = 0;
    const blasint room = (blasint)eigh_room(n), integer_room = (blasint)(3 + 5 * n);
    void *rest = integers + (3 + 5 * n + 8) / 8 * 8;
    const int before = adzi_blas_enter();
    if (dtype == ADZ_F32) {
        ssyevd_("V", "L", &size, a, &size, w, rest, &room, integers, &integer_room, &info, 1, 1);
    } else {
        dsyevd_("V", "L", &size, a, &size, w, rest, &room, integers, &integer_room, &info, 1, 1);
    }
    adzi_blas_leave(before);
    return info == 0;
}

int64_t adzi_lapack_svd_bytes(adz_dtype dtype, int64_t m, int64_t n)
{
    const int64_t k = m < n ? m : n;
    return m > 1 << 30 || n > 1 << 30 ? -1 : bytes_for(dtype, 8 * k, svd_room(m, n));
}

/* A^T = (vh^T) s (u^T): LAPACK's left vectors, stored by columns, are the rows of vh, and the
 * transposed right ones are u. */
bool adzi_lapack_svd(
    adz_dtype dtype, int64_t m, int64_t n, void *a, void *u, void *s, void *vh, void *work)
{
    const int64_t least = m < n ? m : n;
    blasint *integers = work, rows = (blasint)n, columns = (blasint)m, k = (blasint)least, info = 0;
    const blasint room = (blasint)svd_room(m, n);
    void *rest = integers + (8 * least + 8) / 8 * 8;
    const int before = adzi_blas_enter();
    if (dtype == ADZ_F32) {
        sgesdd_(
            "S", &rows, &columns, a, &rows, s, vh, &rows, u, &k, rest, &room, integers, &info, 1);
    } else {
        dgesdd_(
            "S", &rows, &columns, a, &rows, s, vh, &rows, u, &k, rest, &room, integers, &info, 1);
    }
    adzi_blas_leave(before);
    return info == 0;
}
